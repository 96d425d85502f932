package query

import (
	"slices"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/querycontext"
)

// freeKeys are the keys of the query context that never need a permission.
var freeKeys = []string{querycontext.SQLQueryID.Key(), querycontext.StringifyArrays.Key()}

// ContextNeeds returns the permissions that the context keys of a user require.
func ContextNeeds(o auth.Options, keys []string) (out []auth.Need) {
	if !o.ContextKeys {
		return nil
	}
	keys = slices.Clone(keys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		secured := !o.OnlySecured || slices.Contains(o.SecuredKeys, key)
		if secured && !slices.Contains(freeKeys, key) && !slices.Contains(o.UnsecuredKeys, key) {
			out = append(out, auth.Writes(auth.QueryContext, key))
		}
	}
	return out
}
