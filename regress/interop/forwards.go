// SPDX-License-Identifier: ISC

// A client and a server of golang.org/x/crypto/ssh, for tests of forwarding:
//
//	forwards client ADDRESS USER KEY HOST-KEY dial NETWORK TARGET
//	forwards client ADDRESS USER KEY HOST-KEY listen NETWORK PLACE
//	forwards client ADDRESS USER KEY HOST-KEY agent COMMAND
//	forwards server HOST-KEY
//
// "dial" says hello to the target and prints what it answers, "listen" prints
// where the server listens and answers there until its input ends. The server
// lets every key in.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func signer(path string) ssh.Signer {
	text, err := os.ReadFile(path)
	check(err)
	key, err := ssh.ParsePrivateKey(text)
	check(err)
	return key
}

// ---- client ---------------------------------------------------------------

func connect(address, user, key, host string) *ssh.Client {
	text, err := os.ReadFile(host)
	check(err)
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	check(err)
	conn, err := ssh.Dial("tcp", address, &ssh.ClientConfig{
		User:              user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer(key))},
		HostKeyCallback:   ssh.FixedHostKey(public),
		HostKeyAlgorithms: []string{public.Type()},
	})
	check(err)
	return conn
}

func dial(conn *ssh.Client, network, target string) {
	to, err := conn.Dial(network, target)
	check(err)
	_, err = to.Write([]byte("hello"))
	check(err)
	check(to.(interface{ CloseWrite() error }).CloseWrite())
	answer, err := io.ReadAll(to)
	check(err)
	fmt.Print(string(answer))
}

func listen(conn *ssh.Client, network, place string) {
	listener, err := conn.Listen(network, place)
	check(err)
	fmt.Println(listener.Addr())
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close()
				io.Copy(from, from)
			}()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
	check(listener.Close())
}

func forwardAgent(conn *ssh.Client, command string) {
	check(agent.ForwardToRemote(conn, os.Getenv("SSH_AUTH_SOCK")))
	session, err := conn.NewSession()
	check(err)
	check(agent.RequestAgentForwarding(session))
	session.Stdout, session.Stderr = os.Stdout, os.Stderr
	check(session.Run(command))
}

// ---- server ---------------------------------------------------------------

// What RFC 4254 has of both kinds of TCP channels.
type endpoints struct {
	Host     string
	Port     uint32
	From     string
	FromPort uint32
}

type place struct {
	Host string
	Port uint32
}

func join(channel ssh.Channel, conn net.Conn) {
	defer conn.Close()
	defer channel.Close()
	go func() {
		io.Copy(conn, channel)
		conn.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(channel, conn)
	channel.CloseWrite()
	io.Copy(io.Discard, conn)
}

func direct(asked ssh.NewChannel) {
	var to endpoints
	check(ssh.Unmarshal(asked.ExtraData(), &to))
	conn, err := net.Dial("tcp", net.JoinHostPort(to.Host,
		strconv.Itoa(int(to.Port))))
	if err != nil {
		asked.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	channel, requests, err := asked.Accept()
	check(err)
	go ssh.DiscardRequests(requests)
	join(channel, conn)
}

// A session gets its input back.
func session(asked ssh.NewChannel) {
	channel, requests, err := asked.Accept()
	check(err)
	for request := range requests {
		begins := request.Type == "exec" || request.Type == "shell"
		request.Reply(begins, nil)
		if begins {
			go func() {
				io.Copy(channel, channel)
				channel.SendRequest("exit-status", false,
					[]byte{0, 0, 0, 7})
				channel.Close()
			}()
		}
	}
}

func forward(conn *ssh.ServerConn, asked place, listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		peer := from.RemoteAddr().(*net.TCPAddr)
		channel, requests, err := conn.OpenChannel("forwarded-tcpip",
			ssh.Marshal(endpoints{asked.Host, asked.Port,
				peer.IP.String(), uint32(peer.Port)}))
		if err != nil {
			from.Close()
			continue
		}
		go ssh.DiscardRequests(requests)
		go join(channel, from)
	}
}

func answer(conn *ssh.ServerConn, requests <-chan *ssh.Request) {
	listeners := map[place]net.Listener{}
	for request := range requests {
		var asked place
		if request.Type == "cancel-tcpip-forward" {
			check(ssh.Unmarshal(request.Payload, &asked))
			if listeners[asked] != nil {
				listeners[asked].Close()
			}
			request.Reply(listeners[asked] != nil, nil)
			continue
		}
		if request.Type != "tcpip-forward" {
			request.Reply(false, nil)
			continue
		}
		check(ssh.Unmarshal(request.Payload, &asked))
		listener, err := net.Listen("tcp", net.JoinHostPort(asked.Host,
			strconv.Itoa(int(asked.Port))))
		if err != nil {
			request.Reply(false, nil)
			continue
		}
		var port []byte
		if asked.Port == 0 {
			asked.Port = uint32(listener.Addr().(*net.TCPAddr).Port)
			port = ssh.Marshal(struct{ Port uint32 }{asked.Port})
		}
		listeners[asked] = listener
		request.Reply(true, port)
		go forward(conn, asked, listener)
	}
	for _, listener := range listeners {
		listener.Close()
	}
}

func serve(host string) {
	config := &ssh.ServerConfig{PublicKeyCallback: func(
		ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return nil, nil
	}}
	config.AddHostKey(signer(host))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		from, err := listener.Accept()
		check(err)
		go func() {
			conn, channels, requests, err := ssh.NewServerConn(from,
				config)
			if err != nil {
				log.Print(err)
				return
			}
			go answer(conn, requests)
			for asked := range channels {
				switch asked.ChannelType() {
				case "session":
					go session(asked)
				case "direct-tcpip":
					go direct(asked)
				default:
					asked.Reject(ssh.UnknownChannelType, "")
				}
			}
		}()
	}
}

func main() {
	args := os.Args[1:]
	if args[0] == "server" {
		serve(args[1])
		return
	}
	conn := connect(args[1], args[2], args[3], args[4])
	switch args[5] {
	case "dial":
		dial(conn, args[6], args[7])
	case "listen":
		listen(conn, args[6], args[7])
	case "agent":
		forwardAgent(conn, args[6])
	}
}
