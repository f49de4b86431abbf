package match

import "testing"

func TestWholeRunes(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "abc": "abc", "abß": "abß", "ab\xc3": "ab", "\xe2\x82": "", "x\xf0\x9f\x98": "x", "x\xff": "x\xff", "\x80\x80\x80\x80": "\x80\x80\x80\x80",
	} {
		if got := WholeRunes(given); got != want {
			t.Errorf("%q gives %q, want %q", given, got, want)
		}
	}
}
