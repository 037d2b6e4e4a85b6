package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// link is what lies between the program and the API. While it is cut, bytes wait in both directions, and what waited arrives when it is
// mended, as packets do that are sent again.
type link struct {
	mutex  sync.Mutex
	passes chan struct{} // closed while bytes pass
	cut    bool
}

func newLink() *link {
	l := &link{passes: make(chan struct{})}
	close(l.passes)
	return l
}

func (l *link) set(cut bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if cut == l.cut {
		return
	}
	l.cut = cut
	if cut {
		l.passes = make(chan struct{})
	} else {
		close(l.passes)
	}
}

func (l *link) wait() {
	l.mutex.Lock()
	passes := l.passes
	l.mutex.Unlock()
	<-passes
}

func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &linkedConn{conn, l}, nil
}

type linkedConn struct {
	net.Conn
	link *link
}

func (c *linkedConn) Read(bytes []byte) (int, error) {
	n, err := c.Conn.Read(bytes)
	c.link.wait()
	return n, err
}

func (c *linkedConn) Write(bytes []byte) (int, error) {
	c.link.wait()
	return c.Conn.Write(bytes)
}
