package kcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"
)

type devRec struct {
	Name, Text, Error string
	Parsed            json.RawMessage
}

func libOnly(text []byte, source string) (*Manifest, []Finding, error) {
	limits := Limits{}.withDefaults()
	s, p := checkInput(text, source, limits.MaxBytes)
	if p != nil {
		return nil, nil, p
	}
	d := newDecoder(source, s, limits)
	readLibrary(d, s, doubt{})
	d.m.src = exactText(s, text)
	return d.finish()
}

func fastOnly(text []byte, source string) (*Manifest, []Finding, error, bool) {
	limits := Limits{}.withDefaults()
	s, p := checkInput(text, source, limits.MaxBytes)
	if p != nil {
		return nil, nil, p, true
	}
	d := newDecoder(source, s, limits)
	_, done := readFast(d, s)
	if !done {
		return nil, nil, nil, false
	}
	d.m.src = exactText(s, text)
	m, f, err := d.finish()
	return m, f, err, true
}

func TestDevDiff(t *testing.T) {
	name := os.Getenv("DEVDIFF")
	if name == "" {
		t.Skip()
	}
	in, _ := os.Open(name + ".in")
	ref, _ := os.Open(name + ".out")
	a, b := bufio.NewScanner(in), bufio.NewScanner(ref)
	a.Buffer(nil, 1<<26)
	b.Buffer(nil, 1<<26)
	var n, fast, errs, bad int
	_ = sync.Once{}
	for a.Scan() && b.Scan() {
		var x, y devRec
		json.Unmarshal(a.Bytes(), &x)
		json.Unmarshal(b.Bytes(), &y)
		n++
		lm, lf, lerr := libOnly([]byte(x.Text), "s")
		fm, ff, ferr, ok := fastOnly([]byte(x.Text), "s")
		if ok {
			fast++
			if (lerr != nil) != (ferr != nil) || lerr == nil && (!reflect.DeepEqual(lm, fm) || !reflect.DeepEqual(lf, ff)) {
				t.Errorf("READERS %s lib %v fast %v\n%q\n%+v\n%+v", x.Name, lerr, ferr, x.Text, lf, ff)
			}
		}
		m, f, err := Parse([]byte(x.Text), "s")
		if err != nil {
			errs++
		}
		if (err != nil) != (y.Error != "") {
			bad++
			fmt.Printf("ERRDIFF %s ours %v ref %q fast=%v\n", x.Name, err, y.Error, ok)
			if os.Getenv("SHOW") != "" {
				fmt.Printf("%q\n", x.Text)
			}
			continue
		}
		if err == nil && !sameJSON(t, project(m, f), y.Parsed) {
			bad++
			got, _ := json.Marshal(project(m, f))
			var q any
			json.Unmarshal(y.Parsed, &q)
			want, _ := json.Marshal(q)
			i := 0
			for i < len(got) && i < len(want) && got[i] == want[i] {
				i++
			}
			lo := max(0, i-60)
			fmt.Printf("MODELDIFF %s fast=%v\n got ..%s\nwant ..%s\n", x.Name, ok, got[lo:min(len(got), i+80)], want[lo:min(len(want), i+80)])
			if os.Getenv("SHOW") != "" {
				fmt.Printf("%q\n", x.Text)
			}
		}
	}
	fmt.Printf("%s: n=%d fast=%d errs=%d diffs=%d\n", name, n, fast, errs, bad)
}
