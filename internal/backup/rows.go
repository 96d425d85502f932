package backup

import (
	"encoding/binary"
)

// A row is its values one after the other; a value is a tag and, by it, nothing (null), a zigzag
// varint, or a length and that many bytes.
const (
	tagNull  = 0
	tagWhole = 1
	tagText  = 2
)

func appendRow(b []byte, row []any) []byte {
	for _, v := range row {
		switch v := v.(type) {
		case int64:
			b = binary.AppendVarint(append(b, tagWhole), v)
		case string:
			b = append(binary.AppendUvarint(append(b, tagText), uint64(len(v))), v...)
		default:
			b = append(b, tagNull)
		}
	}
	return b
}

// takeRow reads len(row) values from the beginning of b and returns the rest.
func takeRow(b []byte, row []any) ([]byte, error) {
	for i := range row {
		if len(b) == 0 {
			return nil, damaged("a row ends within its values")
		}
		tag := b[0]
		b = b[1:]
		switch tag {
		case tagNull:
			row[i] = nil
		case tagWhole:
			v, n := binary.Varint(b)
			if n <= 0 {
				return nil, damaged("a number of a row can't be read")
			}
			row[i], b = v, b[n:]
		case tagText:
			size, n := binary.Uvarint(b)
			if n <= 0 || size > uint64(len(b)-n) {
				return nil, damaged("a text of a row can't be read")
			}
			row[i], b = string(b[n:n+int(size)]), b[n+int(size):]
		default:
			return nil, damaged("a row has a value of an unknown kind [%d]", tag)
		}
	}
	return b, nil
}
