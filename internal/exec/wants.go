package exec

// wants is what the node above wants of the node that is being built. The zero wants are those of a
// query's client: all columns, with groups in the order of their keys.
type wants struct {
	// anyOrder says that whoever takes the rows does not care for their order.
	anyOrder bool
	// need says which output columns are looked at; nil: all. What is not may come as nulls.
	need []bool
	// reads is how a scan is read; nil: as nothing above knows of.
	reads *reading
	// bounds says of a scan that plan.Scan's Bounds are all that is wanted.
	bounds bool
}

// needing returns w for a node of which only some columns are looked at, nil: all.
func (w wants) needing(need []bool) wants {
	w.need = need
	return w
}

// reading returns w for a scan that is read in some way.
func (w wants) reading(r *reading) wants {
	w.reads = r
	return w
}

// unordered returns w for a node whose rows may come in any order.
func (w wants) unordered() wants {
	w.anyOrder = true
	return w
}

// inOrder returns w for a node whose consumer looks at neighbours: groups come in the order of
// their keys.
func (w wants) inOrder() wants {
	w.anyOrder = false
	return w
}
