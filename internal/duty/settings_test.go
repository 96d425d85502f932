package duty

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"testing"
)

type oneSetting string

func (s oneSetting) Setting(_ context.Context, name string) (json.RawMessage, bool, error) {
	return json.RawMessage(s), name == SettingName && s != "", nil
}

// Every member has a line in the documentation, in the same order, and the page is current.
func TestSettingDocs(t *testing.T) {
	kind := reflect.TypeFor[Settings]()
	if kind.NumField() != len(SettingDocs) {
		t.Fatalf("%d settings and %d lines of documentation", kind.NumField(), len(SettingDocs))
	}
	for i := range kind.NumField() {
		if key := kind.Field(i).Tag.Get("json"); key != SettingDocs[i].Key {
			t.Errorf("line %d is about [%s], want [%s]", i, SettingDocs[i].Key, key)
		}
	}
	want, err := Markdown()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/coordinator.md")
	if err != nil || string(got) != want {
		t.Errorf("docs/coordinator.md is not current: run go generate ./internal/duty (%v)", err)
	}
}

// What is stored goes over the defaults, and lists of an older store may be text.
func TestReadSettings(t *testing.T) {
	got, err := ReadSettings(t.Context(), oneSetting(""))
	if err != nil || !reflect.DeepEqual(got, DefaultSettings()) {
		t.Errorf("nothing stored: %+v, %v", got, err)
	}
	got, err = ReadSettings(t.Context(), oneSetting(`{"maxKillTaskSlots":3,"decommissioningNodes":"a:1, b:2,a:1","smartSegmentLoading":false,"replicantLifetime":4}`))
	want := DefaultSettings()
	want.MaxKillTaskSlots, want.DecommissioningNodes, want.SmartSegmentLoading, want.ReplicantLifetime = 3, NameSet{"a:1", "b:2"}, false, 4
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stored settings: %+v, %v", got, err)
	}
	smart := DefaultSettings()
	if got.Lifetime() != 4 || smart.Lifetime() != 60 {
		t.Errorf("lifetimes %d, %d, want 4, 60", got.Lifetime(), smart.Lifetime())
	}
	if _, err := ReadSettings(t.Context(), oneSetting(`[]`)); err == nil {
		t.Error("settings that are a list were read")
	}
}
