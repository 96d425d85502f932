package fault

import (
	"errors"
	"strings"
	"testing"
)

func TestAPanicIsForTheLog(t *testing.T) {
	var err *Error
	func() {
		defer func() { err = Defensive("It met an unexpected condition").WithPanic(recover()) }()
		panic("unforeseen")
	}()
	if err.Message != "It met an unexpected condition" {
		t.Errorf("users are told [%s]", err.Message)
	}
	cause := errors.Unwrap(err)
	if cause == nil || !strings.Contains(cause.Error(), "panic: unforeseen") || !strings.Contains(cause.Error(), "TestAPanicIsForTheLog") {
		t.Errorf("the log has %v", cause)
	}
}
