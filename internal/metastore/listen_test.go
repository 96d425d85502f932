package metastore

import (
	"testing"
	"time"
)

// What one process writes another is told of: its clock stands still, so that it never looks by
// itself.
func TestProcessesTellEachOtherWhatTheyWrite(t *testing.T) {
	address := postgresURL(t)
	one, two := openFixture(t, Options{URL: address}), openFixture(t, Options{URL: address})
	for number := range int64(3) {
		waiting := make(chan error)
		go func() { waiting <- two.WaitChange(two.ctx(), number) }()
		one.replace(day(int(1+number), int(2+number)), 1)
		two.ok(<-waiting)
	}
	for n := 0; ; n++ {
		changed := two.MembersChanged()
		list, err := two.Members(two.ctx())
		two.ok(err)
		if len(list) == 1 {
			break
		}
		if n == 0 {
			one.ok(one.Announce(one.ctx(), "process", []Member{{Role: "broker", Address: "a:1", Payload: []byte("{}")}}, time.Hour))
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("nobody told of the member")
		}
	}
	for n, name := range []string{"coordinator.config", "broker.config", "broker.config"} {
		changed := two.SettingsChanged()
		if n < 2 {
			_, err := one.SetSetting(one.ctx(), Fence{}, name, []byte("{}"), nil)
			one.ok(err)
		} else {
			_, err := one.DeleteSetting(one.ctx(), Fence{}, name, nil)
			one.ok(err)
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("nobody told of the setting: %d", n)
		}
	}
	if !two.heard.Load() {
		t.Error("the process does not know that it is told")
	}
}
