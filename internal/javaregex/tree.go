package javaregex

import "slices"

// node is a piece of a pattern of java.util.regex. Flags are no part of it: the parser has
// turned them into sets of characters, and into kinds of ends.
type node struct {
	kind regexKind
	// set holds the characters that a regexSet matches one of.
	set runeSet
	// parts are the pieces of a sequence or a choice, and else the one piece inside.
	parts []*node
	// least and most bound a regexRepeat, whose mode is 0, '?' (as few as possible) or '+' (giving
	// nothing back).
	least, most int
	mode        rune
	// number is the group's, or that of the group referred to; fold refers to it in any case.
	number int
	fold   bool
	// open is what a regexLook begins with.
	open string
}

type regexKind uint8

const (
	regexSet           regexKind = iota // one character
	regexSequence                       // parts, one after the other; nothing if there are none
	regexChoice                         // the first of the parts that fits
	regexPlain                          // a group without a number
	regexGroup                          // a group with a number
	regexAtomic                         // (?>X)
	regexLook                           // (?=X) and its like
	regexRepeat                         // X*, X{2,3}
	regexReference                      // \1
	regexBreak                          // \R
	regexCluster                        // \X
	regexBegin                          // \A, ^
	regexEnd                            // \z
	regexFinal                          // \Z, $
	regexFinalUnix                      // the same where only "\n" ends a line
	regexLine                           // (?m)^
	regexLineUnix                       // (?md)^
	regexLineEnd                        // (?m)$
	regexLineEndUnix                    // (?md)$
	regexWord                           // \b
	regexNoWord                         // \B
	regexWordUnicode                    // (?U)\b
	regexNoWordUnicode                  // (?U)\B
	regexBetween                        // \b{g}
	regexLast                           // \G
)

// unlimited is a regexRepeat's most where there is no bound.
const unlimited = -1

// any reports whether f holds for the piece or one inside of it.
func (n *node) any(f func(*node) bool) bool {
	return f(n) || slices.ContainsFunc(n.parts, func(p *node) bool { return p.any(f) })
}

// empty reports whether the piece may match nothing at all.
func (n *node) empty() bool {
	switch n.kind {
	case regexSet, regexBreak, regexCluster:
		return false
	case regexSequence:
		return !slices.ContainsFunc(n.parts, func(p *node) bool { return !p.empty() })
	case regexChoice:
		return slices.ContainsFunc(n.parts, (*node).empty)
	case regexRepeat:
		return n.least == 0 || n.parts[0].empty()
	case regexPlain, regexGroup, regexAtomic:
		return n.parts[0].empty()
	}
	return true
}

// backtracks reports whether package regexp can't run the pattern.
func (n *node) backtracks() bool {
	return n.any(func(n *node) bool {
		switch n.kind {
		case regexAtomic, regexLook, regexReference, regexCluster, regexBetween, regexLast, regexWordUnicode, regexNoWordUnicode:
			return true
		case regexRepeat:
			return n.mode == '+' || n.parts[0].any(func(n *node) bool { return n.kind == regexBreak })
		}
		return false
	})
}

// has reports whether there is a piece of one of some kinds.
func (n *node) has(kinds ...regexKind) bool {
	return n.any(func(n *node) bool { return slices.Contains(kinds, n.kind) })
}

// limited reports whether Java finds how long the piece can be at most, which it wants of what it
// looks back at: it gives up on references and on repeated groups without a bound, or that match
// differently. Repeated characters it takes.
func (n *node) limited() bool {
	return !n.any(func(n *node) bool {
		switch {
		case n.kind == regexReference:
			return true
		case n.kind != regexRepeat || n.mode == '+' || n.least == 0 && n.most == 1:
			return false
		}
		switch part := n.parts[0]; part.kind {
		case regexPlain, regexGroup, regexAtomic:
			return n.most == unlimited || part.varies()
		}
		return false
	})
}

// varies reports whether the piece may match at one place in several ways.
func (n *node) varies() bool {
	return n.any(func(n *node) bool {
		return n.kind == regexChoice || n.kind == regexReference || n.kind == regexRepeat && n.least != n.most
	})
}
