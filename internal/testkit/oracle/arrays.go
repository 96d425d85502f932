package oracle

import "slices"

// arrayCall applies a function of arrays; ok is false for other functions. null says that an
// argument is.
func arrayCall(name string, args []any, null bool) (v any, ok bool) {
	switch name {
	case "ARRAY":
		return slices.Clone(args), true
	case "MV_TO_ARRAY":
		return args[0], true
	case "MV_CONTAINS", "MV_OVERLAP": // no values are one NULL, on both sides
		has := func(v any) bool { return holds(values(args[0]), v) }
		if name == "MV_OVERLAP" {
			return b2i(slices.ContainsFunc(values(args[1]), has)), true
		}
		return b2i(!slices.ContainsFunc(values(args[1]), func(v any) bool { return !has(v) })), true
	case "MV_FILTER_ONLY", "MV_FILTER_NONE":
		out := slices.DeleteFunc(slices.Clone(values(args[0])), func(v any) bool {
			return holds(args[1].([]any), v) != (name == "MV_FILTER_ONLY")
		})
		if len(out) == 0 {
			return nil, true
		}
		return out, true
	case "ARRAY_LENGTH", "ARRAY_OFFSET", "ARRAY_SLICE", "ARRAY_CONCAT":
		if null {
			return nil, true
		}
	case "ARRAY_APPEND", "ARRAY_CONTAINS", "ARRAY_OVERLAP": // the element may be null, the null array asks for NULL and meets no array
		if args[0] == nil {
			return nil, true
		}
		switch {
		case args[1] != nil:
		case name == "ARRAY_CONTAINS":
			return b2i(slices.Contains(args[0].([]any), nil)), true
		case name == "ARRAY_OVERLAP":
			return int64(0), true
		}
	default:
		return nil, false
	}
	list := args[0].([]any)
	switch name {
	case "ARRAY_LENGTH":
		return int64(len(list)), true
	case "ARRAY_OFFSET":
		if i := args[1].(int64); i >= 0 && i < int64(len(list)) {
			return list[i], true
		}
		return nil, true
	case "ARRAY_SLICE":
		from, to := args[1].(int64), args[2].(int64)
		if from < 0 || from > int64(len(list)) || from > to {
			return nil, true
		}
		out := []any{}
		for i := from; i < to; i++ { // beyond the end there are nulls
			if i < int64(len(list)) {
				out = append(out, list[i])
			} else {
				out = append(out, nil)
			}
		}
		return out, true
	case "ARRAY_APPEND":
		return append(slices.Clone(list), args[1]), true
	case "ARRAY_CONCAT":
		return slices.Concat(list, args[1].([]any)), true
	case "ARRAY_OVERLAP":
		return b2i(slices.ContainsFunc(args[1].([]any), func(v any) bool { return holds(list, v) })), true
	}
	return b2i(!slices.ContainsFunc(args[1].([]any), func(v any) bool { return !holds(list, v) })), true // ARRAY_CONTAINS
}

// holds reports whether an element of list is v, or null where v is.
func holds(list []any, v any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return orderNulls(e, v) == 0 })
}
