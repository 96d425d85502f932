package arrow

// Raw returns the message of a record batch whose nodes (length, nulls) and buffers the caller has
// made, for types that vectors don't have.
func Raw(rows int, nodes [][2]int64, buffers [][]byte) *Message {
	return batchMessage(headBatch, rows, nodes, buffers, nil)
}

// Union is a dense union, which is written by Raw and not read.
const Union Kind = 14

// writeUnion writes the parameters of a dense union of so many members, whose ids count from 0.
func writeUnion(w *flatWriter, members int) int {
	ids := make([]int32, members)
	for i := range ids {
		ids[i] = int32(i)
	}
	return w.table(number(2, 1), int32s(ids))
}
