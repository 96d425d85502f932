package why

import "testing"

// The bytes that this process holds of a segment are verified, damaged, or had anew; of others
// nothing is said.
func TestDetailsOfCopies(t *testing.T) {
	f := open(t)
	var c CopyState
	held := true
	f.o.Copy = func(id string) (CopyState, bool) { return c, held && id == f.ids[0] }
	const at = 1772323200000 // 2026-03-01
	f.detailed("at the start", f.about(0), Copy, "unverified",
		"its bytes here are verified when they are first read; the background has not come to them since the start", `{}`)
	c.Verified = at
	f.detailed("later", f.about(0), Copy, "verified", "all of its bytes here were verified in the background", `{"verified":"2026-03-01T00:00:00.000Z"}`)
	c.Damaged, c.Reason = at+1000, "column [x]: a checksum of its data does not match"
	const damaged = `"verified":"2026-03-01T00:00:00.000Z","damaged":"2026-03-01T00:00:01.000Z","reason":"column [x]: a checksum of its data does not match"`
	f.detailed("damaged", f.about(0), Copy, "damaged", "its bytes here are damaged: "+c.Reason, `{`+damaged+`}`)
	c.Failure = "deep storage is away"
	f.detailed("hopeless", f.about(0), Copy, "damaged", "its bytes here are damaged: "+c.Reason+"; fetching it again failed: deep storage "+
		"is away",
		`{`+damaged+`,"failure":"deep storage is away"}`)
	c.Failure, c.Mended = "", at+2000
	f.detailed("mended", f.about(0), Copy, "mended", "its local copy was damaged and was fetched again: "+c.Reason,
		`{`+damaged+`,"mended":"2026-03-01T00:00:02.000Z"}`)
	held = false
	for _, i := range []int{0, 1} {
		for _, d := range f.about(i) {
			if d.Topic == Copy {
				t.Errorf("%+v", d)
			}
		}
	}
}
