package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// How a supervisor is followed after it was submitted.
const (
	streamWait  = 2 * time.Minute
	streamPause = 250 * time.Millisecond
)

// follow waits until a supervisor reads, and tells what it does meanwhile.
func (o *streamOptions) follow(ctx context.Context, id string) error {
	began := o.clock.Now()
	shown, told := "", map[string]bool{}
	for {
		s, err := statusOfStream(ctx, o.client, id)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(o.err, "Supervisor [%s] keeps running. See its state with: henge stream status %s; end it with: henge stream terminate %s\n",
				id, id, id)
			return ctx.Err()
		case err != nil && !isAway(err):
			return err
		case err == nil:
			if s.Detailed != shown {
				shown = s.Detailed
				fmt.Fprintf(o.err, "%8s  %s\n", o.clock.Now().Sub(began).Round(100*time.Millisecond), shown)
			}
			for _, e := range s.Errors {
				if !told[e.Time+e.Message] {
					fmt.Fprintf(o.err, "          %s\n", firstLine(e.Message))
				}
				told[e.Time+e.Message] = true
			}
			if !s.Healthy {
				return fault.InvalidInput("Supervisor [%s] is in state [%s]. %s", id, s.Detailed, adviceFor(s, id))
			}
			if s.Detailed == "RUNNING" && s.reads() {
				return nil
			}
		}
		if o.clock.Now().Sub(began) >= o.wait {
			return fault.Timeout("Supervisor [%s] does not read after %s: it is in state [%s]. It keeps running; see its state with: henge "+
				"stream status %s",
				id, o.wait, shown, id)
		}
		if o.clock.Sleep(ctx, streamPause) != nil {
			continue
		}
	}
}

// reads reports whether a task of the supervisor is at work.
func (s *streamStatus) reads() bool {
	for _, t := range s.Active {
		if t.Start != nil {
			return true
		}
	}
	return false
}

// adviceFor says what to do about the state of a supervisor; "": nothing.
func adviceFor(s *streamStatus, id string) string {
	switch s.Detailed {
	case "UNABLE_TO_CONNECT_TO_STREAM":
		return "It could not connect to the stream. Check the addresses, the topic and the properties of the client, " +
			"as the machine of the server sees them, and submit it again with --update, or end it with: henge stream terminate " + id
	case "LOST_CONTACT_WITH_STREAM":
		return "It resumes when the stream is back; nothing is lost as long as the stream keeps its records"
	case "UNHEALTHY_TASKS":
		return fmt.Sprintf(`Its tasks fail. For the reason run: henge sql -q "SELECT task_id, error_msg FROM sys.tasks WHERE datasource = %s `+
			`AND status = 'FAILED' ORDER BY created_time DESC LIMIT 3"`, quoteText(s.DataSource))
	case "UNHEALTHY_SUPERVISOR":
		return "The last errors have the reason; the log of the Overlord has details"
	case "SUSPENDED":
		return "Resume it with: henge stream resume " + id
	}
	return ""
}
