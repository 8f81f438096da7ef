/* SPDX-License-Identifier: ISC */
#include "crypto/umac-nh.h"

#include "compat/cpu.h"

static uint32_t
load_le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24;
}

static void
nh_portable(const uint32_t *key, const uint8_t *p, size_t len,
    uint64_t sum[NH_STREAMS])
{
	uint64_t sum0 = sum[0], sum1 = sum[1];

	for (; len > 0; len -= NH_GROUP_LEN, p += NH_GROUP_LEN, key += 8) {
		for (int i = 0; i < 4; i++) {
			uint32_t a = load_le32(p + 4 * i);
			uint32_t b = load_le32(p + 16 + 4 * i);

			sum0 += (uint64_t)(a + key[i]) * (b + key[i + 4]);
			sum1 += (uint64_t)(a + key[i + NH_SHIFT]) *
			    (b + key[i + 4 + NH_SHIFT]);
		}
	}
	sum[0] = sum0;
	sum[1] = sum1;
}

#if CPU_X86_64

#include <immintrin.h>

/* Multiplies the 32-bit lanes of a + ka by those of b + kb, and adds the
 * products in pairs. */
static inline __m128i
products128(__m128i a, __m128i ka, __m128i b, __m128i kb)
{
	__m128i x = _mm_add_epi32(a, ka), y = _mm_add_epi32(b, kb);

	return _mm_add_epi64(_mm_mul_epu32(x, y),
	    _mm_mul_epu32(_mm_srli_epi64(x, 32), _mm_srli_epi64(y, 32)));
}

static inline uint64_t
lanes128(__m128i v)
{
	uint64_t lane[2];

	_mm_storeu_si128((__m128i *)lane, v);
	return lane[0] + lane[1];
}

static inline __m128i
load128(const void *p)
{
	return _mm_loadu_si128(p);
}

static void
nh_sse2(const uint32_t *key, const uint8_t *p, size_t len,
    uint64_t sum[NH_STREAMS])
{
	__m128i sum0 = _mm_setzero_si128(), sum1 = sum0;
	__m128i k0 = load128(key), k1, k2;

	/* Stream 1 uses the key NH_SHIFT words further on than stream 0: its
	 * first half is stream 0's second half, and its second half is the
	 * first half of stream 0's next group. */
	for (; len > 0; len -= NH_GROUP_LEN, p += NH_GROUP_LEN, key += 8) {
		__m128i a = load128(p), b = load128(p + 16);

		k1 = load128(key + 4);
		k2 = load128(key + 8);
		sum0 = _mm_add_epi64(sum0, products128(a, k0, b, k1));
		sum1 = _mm_add_epi64(sum1, products128(a, k1, b, k2));
		k0 = k2;
	}
	sum[0] += lanes128(sum0);
	sum[1] += lanes128(sum1);
}

#define AVX2 __attribute__((target("avx2")))

static inline AVX2 __m256i
products256(__m256i a, __m256i ka, __m256i b, __m256i kb)
{
	__m256i x = _mm256_add_epi32(a, ka), y = _mm256_add_epi32(b, kb);

	return _mm256_add_epi64(_mm256_mul_epu32(x, y),
	    _mm256_mul_epu32(_mm256_srli_epi64(x, 32),
		_mm256_srli_epi64(y, 32)));
}

/* Loads 16 bytes from p, and the 16 bytes that are one group further on. */
static inline AVX2 __m256i
load_pair(const uint8_t *p)
{
	return _mm256_inserti128_si256(_mm256_castsi128_si256(load128(p)),
	    load128(p + NH_GROUP_LEN), 1);
}

static inline AVX2 uint64_t
lanes256(__m256i v)
{
	return lanes128(_mm_add_epi64(_mm256_castsi256_si128(v),
	    _mm256_extracti128_si256(v, 1)));
}

static AVX2 void
nh_avx2(const uint32_t *key, const uint8_t *p, size_t len,
    uint64_t sum[NH_STREAMS])
{
	const uint8_t *k = (const uint8_t *)key;
	__m256i sum0 = _mm256_setzero_si256(), sum1 = sum0;

	/* Each turn of the loop takes two groups. One vector holds their first
	 * halves, the other their second halves, so that no data has to move
	 * from one lane to another. */
	while (len >= 2 * NH_GROUP_LEN) {
		__m256i a = load_pair(p), b = load_pair(p + 16);
		__m256i k0 = load_pair(k), k1 = load_pair(k + 16);
		__m256i k2 = load_pair(k + 32);

		sum0 = _mm256_add_epi64(sum0, products256(a, k0, b, k1));
		sum1 = _mm256_add_epi64(sum1, products256(a, k1, b, k2));
		p += 2 * NH_GROUP_LEN;
		k += 2 * NH_GROUP_LEN;
		len -= 2 * NH_GROUP_LEN;
	}
	sum[0] += lanes256(sum0);
	sum[1] += lanes256(sum1);
	if (len > 0)
		nh_sse2((const uint32_t *)k, p, len, sum);
}

nh_fn
nh_at(size_t index)
{
	static const nh_fn fns[] = { nh_portable, nh_sse2, nh_avx2 };
	size_t count = cpu_has_avx2() ? 3 : 2;

	return index < count ? fns[index] : NULL;
}

#else

nh_fn
nh_at(size_t index)
{
	return index == 0 ? nh_portable : NULL;
}

#endif

nh_fn
nh_best(void)
{
	nh_fn best = NULL, fn;

	for (size_t i = 0; (fn = nh_at(i)) != NULL; i++)
		best = fn;
	return best;
}
