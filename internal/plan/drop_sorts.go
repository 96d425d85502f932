package plan

// dropSorts removes orders that nobody sees: those of rows that are grouped, built into a hash
// table, compared as sets, or sorted again. A sort with a limit picks rows and stays.
func (o *optimizer) dropSorts(n Node) Node {
	n = MapInputs(n, o.dropSorts)
	switch x := n.(type) {
	case *Aggregate, *SetOp:
		return MapInputs(n, o.unsorted)
	case *Join:
		return WithInputs(x, []Node{x.Left, o.unsorted(x.Right)})
	case *Sort:
		return WithInputs(x, []Node{o.unsorted(x.Input)})
	}
	return n
}

// unsorted returns n without the order its rows come in.
func (o *optimizer) unsorted(n Node) Node {
	switch x := n.(type) {
	case *Sort:
		if x.Limit < 0 && x.Offset == 0 {
			o.fired()
			return o.unsorted(x.Input)
		}
	case *Project, *Filter, *Unnest:
		return MapInputs(n, o.unsorted)
	}
	return n
}
