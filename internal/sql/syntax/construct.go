package syntax

import "strings"

// InsteadOfAsof is what to write instead of ASOF JOIN.
const InsteadOfAsof = "LEFT JOIN LATERAL (SELECT ... WHERE ... ORDER BY ... DESC LIMIT 1) AS q ON TRUE; ASOF JOIN is not supported"

// What to write instead of other constructs that have no form of their own here.
const (
	insteadOfRecursive  = "WITH without RECURSIVE; queries that read themselves are not supported"
	insteadOfDistinctOn = "QUALIFY ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) = 1 at the end of the query; DISTINCT ON is not supported"
	insteadOfUnnest     = "UNNEST(array) AS u(x) in FROM, and x here; UNNEST is no function"
	insteadOfReplace    = "* EXCLUDE (names), and beside it what replaces them"
)

// construct returns what to write instead of a construct that the token which failed is part of, ""
// if it is of none.
func (f *failure) construct() string {
	tok, before := &f.toks[f.at], &f.toks[f.at-1]
	switch {
	case f.isAsof():
		return InsteadOfAsof
	case tok.is(kwRecursive) && before.is(kwWith):
		return insteadOfRecursive
	case tok.is(kwOn) && before.is(kwDistinct):
		return insteadOfDistinctOn
	case tok.is(kwUnnest):
		return insteadOfUnnest
	case tok.is(kwReplace) && before.kind == tokStar:
		return insteadOfReplace
	case tok.isName() && before.is(kwExcept) && f.at > 1 && f.toks[f.at-2].kind == tokStar:
		return "* EXCLUDE (" + f.source(tok) + ")"
	}
	return ""
}

// IsAsof reports whether an alias is the word before JOIN in other dialects.
func IsAsof(alias string) bool { return strings.EqualFold(alias, "ASOF") }

// isAsof reports whether the token that failed, or one before it in the same query, begins ASOF
// JOIN. The word itself is read as an alias.
func (f *failure) isAsof() bool {
	for at := f.at; at >= 0 && !f.toks[at].is(kwSelect); at-- {
		if IsAsof(f.source(&f.toks[at])) && at+1 < len(f.toks) && (f.toks[at+1].is(kwJoin) || f.toks[at+1].is(kwLeft)) {
			return true
		}
	}
	return false
}
