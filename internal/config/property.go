// Package config defines the settings of a process: one list that names every property with its
// type, default, meaning and secrecy, and the loading of values from files, the environment and
// flags.
//
// The central types are Property (one entry of the list, properties.go; accepted.go has the
// properties without effect) and Settings (the values of one process). Defaults exist only in this
// package. Property names begin with "service."; each alias of service.api.aliases ("druid.") is
// accepted in its place. docs/configuration.md is generated from the list.
package config

import (
	"slices"
	"strings"
)

// Kind is the type of a property's value.
type Kind uint8

// The kinds of values.
const (
	Text     Kind = iota
	Bool          // true or false
	Int           // whole number
	Bytes         // whole number with an optional unit: 512MiB, 2GB, 30% (of the machine's memory)
	Duration      // ISO 8601 period of fixed length: PT5M, P1D
	List          // JSON array of text, or text separated by commas
	JSON          // any JSON value
)

var kindNames = [...]string{"text", "true/false", "whole number", "bytes", "duration", "list", "JSON"}

// String returns the name used in the documentation and in errors.
func (k Kind) String() string { return kindNames[k] }

// Property declares one setting.
type Property struct {
	// Key is the full name. A part "<name>" stands for one or more user-defined components.
	Key string
	// Kind is the type of the value, Default the text of the default value.
	Kind    Kind
	Default string
	// Doc describes the setting in one or two sentences, including units and allowed values.
	Doc string
	// Secret values are never shown, not even in errors.
	Secret bool
}

// find returns the property declared for key, or nil.
func find(key string) *Property {
	if p, ok := byKey[key]; ok {
		return p
	}
	var best *Property // the one that says most: of a.<name>.c and a.<name>.b.c the second
	for i := range patterns {
		if matchPattern(patterns[i].Key, key) && (best == nil || len(patterns[i].Key) > len(best.Key)) {
			best = patterns[i]
		}
	}
	return best
}

func matchPattern(pattern, key string) bool {
	before, after, _ := strings.Cut(pattern, "<name>")
	return len(key) > len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after)
}

var byKey, patterns = index(slices.Concat(Properties, Accepted))

func index(list []Property) (exact map[string]*Property, patterns []*Property) {
	exact = make(map[string]*Property, len(list))
	for i := range list {
		p := &list[i]
		if strings.Contains(p.Key, "<name>") {
			patterns = append(patterns, p)
		} else {
			exact[p.Key] = p
		}
	}
	return exact, patterns
}
