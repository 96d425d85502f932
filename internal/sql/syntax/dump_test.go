package syntax

import (
	"fmt"
	"reflect"
	"strings"
)

// dump writes a tree as nested lists, without places: (Binary Op:+ Left:(Name a) Right:(Number 1)).
// Fields with zero values are left out. It knows nothing of the grammar, so that equal dumps are
// equal trees.
func dump(n any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(n))
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		dumpValue(b, v.Elem())
	case reflect.Slice:
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			dumpValue(b, v.Index(i))
		}
		b.WriteByte(']')
	case reflect.Struct:
		if id, ok := reflect.TypeAssert[Ident](v); ok {
			if id.Quoted {
				fmt.Fprintf(b, "%q", id.Name)
			} else {
				b.WriteString(id.Name)
			}
			return
		}
		fmt.Fprintf(b, "(%s", v.Type().Name())
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Type == reflect.TypeFor[Pos]() || v.Field(i).IsZero() || f.Type.Kind() == reflect.Slice && v.Field(i).Len() == 0 {
				continue
			}
			var part strings.Builder
			dumpValue(&part, v.Field(i))
			if f.Type.Kind() == reflect.Struct && part.String() == "("+f.Type.Name()+")" { // nothing but its place
				continue
			}
			fmt.Fprintf(b, " %s:%s", f.Name, part.String())
		}
		b.WriteByte(')')
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

// difference returns where two dumps part.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-60):min(len(s), i+60)] }
	return fmt.Sprintf("... %s\n... %s", cut(a), cut(b))
}
