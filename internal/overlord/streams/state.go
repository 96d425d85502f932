package streams

import (
	"errors"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// detailed is the state of a supervisor, in the words of the interface.
type detailed string

// The states of a supervisor.
const (
	pendingState   detailed = "PENDING"
	connecting     detailed = "CONNECTING_TO_STREAM"
	discovering    detailed = "DISCOVERING_INITIAL_TASKS"
	creating       detailed = "CREATING_TASKS"
	runningState   detailed = "RUNNING"
	idleState      detailed = "IDLE"
	suspendedState detailed = "SUSPENDED"
	stopping       detailed = "STOPPING"
	completed      detailed = "COMPLETED"
	unable         detailed = "UNABLE_TO_CONNECT_TO_STREAM"
	lostContact    detailed = "LOST_CONTACT_WITH_STREAM"
	unhealthy      detailed = "UNHEALTHY_SUPERVISOR"
	unhealthyTasks detailed = "UNHEALTHY_TASKS"
)

// basic is the state that a detailed one is of.
func (d detailed) basic() string {
	switch d {
	case connecting, discovering, creating:
		return string(runningState)
	case unable, lostContact:
		return string(unhealthy)
	}
	return string(d)
}

func (d detailed) healthy() bool {
	return !slices.Contains([]detailed{unable, lostContact, unhealthy, unhealthyTasks}, d)
}

// firstRunOnly reports whether the state is one of before the first run that succeeded.
func (d detailed) firstRunOnly() bool {
	return slices.Contains([]detailed{pendingState, connecting, discovering, creating}, d)
}

// Thresholds define after how many failed or successful runs and tasks a supervisor becomes
// unhealthy, or healthy again.
type Thresholds struct {
	Unhealthy, Healthy, TaskUnhealthy, TaskHealthy int
	// Events is the number of errors that are kept.
	Events int
	// Causes says that the causes of errors are shown as well.
	Causes bool
}

func (t Thresholds) withDefaults() Thresholds {
	for _, n := range []*int{&t.Unhealthy, &t.Healthy, &t.TaskUnhealthy, &t.TaskHealthy} {
		if *n <= 0 {
			*n = 3
		}
	}
	if t.Events <= 0 {
		t.Events = max(t.Unhealthy, t.Healthy, t.TaskUnhealthy, t.TaskHealthy)
	}
	return t
}

// problem is an error that a supervisor met, as its status shows it.
type problem struct {
	Time    string `json:"timestamp"`
	Class   string `json:"exceptionClass"`
	Message string `json:"message"`
	Stream  bool   `json:"streamException"`
}

// states decides the state of one supervisor.
type states struct {
	t         Thresholds
	current   detailed
	suspended bool
	problems  []problem
	// failedRuns and so on count what came one after the other.
	failedRuns, goodRuns, failedTasks, goodTasks int
	// succeeded says that a run has, ever.
	succeeded bool
	// met says that an error was met in this run.
	met bool
}

func newStates(t Thresholds, suspended bool) *states {
	return &states{t: t.withDefaults(), current: pendingState, suspended: suspended}
}

// steady is the state of a supervisor that does what it should.
func (s *states) steady() detailed {
	if s.suspended {
		return suspendedState
	}
	return runningState
}

// propose sets a state unless there is a reason against it.
func (s *states) propose(p detailed) {
	last := len(s.problems) - 1
	switch {
	case s.current == stopping || p == stopping:
		s.current = stopping
	case s.failedRuns >= s.t.Unhealthy:
		switch {
		case last < 0 || !s.problems[last].Stream:
			s.current = unhealthy
		case s.succeeded:
			s.current = lostContact
		default:
			s.current = unable
		}
	case s.failedTasks >= s.t.TaskUnhealthy:
		s.current = unhealthyTasks
	case s.current == unhealthyTasks && s.goodTasks < s.t.TaskHealthy:
	case !s.current.healthy() && s.current != unhealthyTasks && s.goodRuns < s.t.Healthy:
	case p == s.steady() && !s.succeeded:
	case p.firstRunOnly() && s.succeeded:
	default:
		s.current = p
	}
}

// endRun counts a run and settles the state.
func (s *states) endRun() {
	if s.met {
		s.failedRuns++
		s.goodRuns = 0
	} else {
		s.goodRuns++
		s.failedRuns, s.succeeded = 0, true
	}
	s.met = false
	if s.current != idleState && s.current != completed {
		s.propose(s.steady())
	} else if s.failedRuns > 0 || s.failedTasks > 0 {
		s.propose(s.current)
	}
}

// endTask counts a task that ended.
func (s *states) endTask(good bool) {
	if good {
		s.goodTasks++
		s.failedTasks = 0
		return
	}
	s.failedTasks++
	s.goodTasks = 0
}

// The classes of errors that do not come from a stream.
const (
	stateClass = "org.apache.druid.java.util.common.ISE"
	plainClass = "org.apache.druid.error.DruidException"
)

// meet notes an error of this run.
func (s *states) meet(now int64, err error) {
	class, message := stream.ClassOf(err)
	ofStream := class != ""
	if !ofStream {
		class, message = plainClass, fault.Words(err)
		if f := fault.Find(err); f != nil {
			message = f.Message
		}
		if e, ok := errors.AsType[*streamError](err); ok {
			class, message, ofStream = stateClass, e.message, true
		}
	}
	if s.t.Causes {
		for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
			message += "\n\tcaused by: " + cause.Error()
		}
	}
	s.note(now, problem{Class: class, Message: message, Stream: ofStream})
}

// note keeps a problem of this run.
func (s *states) note(now int64, p problem) {
	s.met = true
	p.Time = chrono.FormatMillis(now, chrono.UTC)
	if !strings.HasPrefix(p.Message, p.Class) {
		p.Message = p.Class + ": " + p.Message
	}
	s.problems = append(s.problems, p)
	if extra := len(s.problems) - s.t.Events; extra > 0 {
		s.problems = slices.Clone(s.problems[extra:])
	}
}

// streamError is an error about what a stream has.
type streamError struct{ message string }

func (e *streamError) Error() string { return e.message }
