// Package sdnotify reports the state of the server to a service manager, by the protocol of
// sd_notify(3).
package sdnotify

import (
	"context"
	"net"
	"os"
	"strings"
)

// notifySocket names the socket on which a service manager wants to be told of states: systemd sets
// it for units of Type=notify.
const notifySocket = "NOTIFY_SOCKET"

// Send tells the service manager, if there is one, lines such as READY=1. That it can't be
// told stops nobody: the manager then waits in vain and says so itself.
func Send(lines ...string) {
	path := os.Getenv(notifySocket)
	if path == "" {
		return
	}
	if strings.HasPrefix(path, "@") { // an abstract one
		path = "\x00" + path[1:]
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(strings.Join(lines, "\n"))) // see above
	_ = conn.Close()                                     // likewise
}

// States tells the service manager that the server is ready, and when ctx is done that it
// stops. The function that it returns ends this; what is being told then is told to the end.
func States(ctx context.Context, ready string) (end func()) {
	Send("READY=1", "STATUS="+ready)
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		Send("STOPPING=1", "STATUS=stopping: requests under way are answered")
	})
	return func() {
		if !stop() {
			<-told
		}
	}
}
