# SPDX-License-Identifier: ISC
"""Bar charts as SVG, without a library."""

from html import escape

COLOURS = ("#1b6ca8", "#b0b7bd", "#d08c2f", "#6a9b52", "#8c5fa8", "#c25b56")
BAR, GAP, LEFT, WIDTH = 14, 10, 330, 460


def bars(title, rows):
    """rows: [(label, {series: value})]. One group of bars for each row."""
    series = list(dict.fromkeys(s for _, values in rows for s in values))
    most = max((v for _, values in rows for v in values.values()),
               default=0) or 1
    parts, y = [], 62
    for i, name in enumerate(series):
        x = LEFT + i * 110
        parts.append(f'<rect x="{x}" y="30" width="12" height="12" '
                     f'fill="{COLOURS[i % len(COLOURS)]}"/>'
                     f'<text x="{x + 17}" y="40">{escape(name)}</text>')
    for label, values in rows:
        middle = y + len(values) * BAR / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle:.0f}" '
                     f'text-anchor="end">{escape(label)}</text>')
        for name, value in values.items():
            colour = COLOURS[series.index(name) % len(COLOURS)]
            width = max(1, value / most * WIDTH)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" '
                         f'height="{BAR - 2}" fill="{colour}"/>'
                         f'<text x="{LEFT + width + 5:.1f}" y="{y + 10}" '
                         f'class="n">{value:.3g}</text>')
            y += BAR
        y += GAP
    full = max(LEFT + WIDTH + 70, LEFT + len(series) * 110)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{full}" '
            f'height="{y + 10}" font-family="sans-serif" font-size="12">'
            '<style>.n{font-size:10px;fill:#444}</style>'
            '<rect width="100%" height="100%" fill="#fff"/>'
            f'<text x="10" y="20" font-size="15">{escape(title)}</text>'
            + "".join(parts) + "</svg>\n")
