package kcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

func treeJSON(t *tree, i int32, open []int32) any {
	i = t.resolved(i)
	for _, o := range open {
		if o == i {
			return "CYCLE"
		}
	}
	n := t.nodes[i]
	switch n.kind {
	case kindScalar:
		if n.plain {
			switch k, x := scalarTypeOf(n.text); k {
			case typeNull:
				return nil
			case typeBool:
				b, _ := boolText(n.text)
				return fmt.Sprintf("b:%v", b)
			case typeNumber:
				return "n:" + artifact.FormatNumber(x)
			}
		}
		return "s:" + n.text
	case kindList:
		l := []any{}
		for e := n.first; e != 0; e = t.nodes[e].next {
			l = append(l, treeJSON(t, e, append(open, i)))
		}
		return l
	case kindMap:
		type kv struct {
			k string
			v any
		}
		var es []kv
		for k := n.first; k != 0; k = t.nodes[t.nodes[k].next].next {
			es = append(es, kv{t.nodes[k].text, treeJSON(t, t.nodes[k].next, append(open, i))})
		}
		sort.Slice(es, func(a, b int) bool { return artifact.CompareUTF16(es[a].k, es[b].k) < 0 })
		l := []any{}
		for _, e := range es {
			l = append(l, []any{e.k, e.v})
		}
		return map[string]any{"m": l}
	}
	return nil
}

func TestDevTree(t *testing.T) {
	name := os.Getenv("DEVTREE")
	if name == "" {
		t.Skip()
	}
	in, _ := os.Open(name + ".in")
	ref, _ := os.Open(name + ".out")
	a, b := bufio.NewScanner(in), bufio.NewScanner(ref)
	a.Buffer(nil, 1<<26)
	b.Buffer(nil, 1<<26)
	var n, fast, errs, bad, badfast int
	for a.Scan() && b.Scan() {
		var x struct{ Name, Text string }
		var y struct{ Name, Error, Tree string }
		json.Unmarshal(a.Bytes(), &x)
		json.Unmarshal(b.Bytes(), &y)
		n++
		limits := Limits{}.withDefaults()
		text, p := checkInput([]byte(x.Text), "s", limits.MaxBytes)
		var err error
		usedFast := false
		var got string
		if p != nil {
			err = p
		} else {
			d := newDecoder("s", text, limits)
			f := newFastReader(d, text)
			if worthFastReading(text) {
				f.begin()
				i := f.blockNode(-1, 1)
				f.end()
				if !f.stopped {
					usedFast = true
					fast++
					if d.err != nil {
						err = d.err
					} else if d.t.nodes[i].kind != kindMap {
						err = fmt.Errorf("not map")
					} else {
						g, _ := json.Marshal(treeJSON(d.t, i, nil))
						got = string(g)
					}
				}
			}
			d2 := newDecoder("s", text, limits)
			r := newLibraryReader(d2, text)
			var lerr error
			lgot := ""
			if root := r.parse(doubt{}); root != nil {
				i := r.convert(root, 1)
				if d2.err == nil {
					g, _ := json.Marshal(treeJSON(d2.t, i, nil))
					lgot = string(g)
				}
			}
			if d2.err != nil {
				lerr = d2.err
			}
			if usedFast && ((lerr != nil) != (err != nil) || lgot != got) {
				badfast++
				fmt.Printf("READERS %s lib %v fast %v\n%q\n lib %s\nfast %s\n js  %s %s\n", x.Name, lerr, err, x.Text, lgot, got, y.Tree, y.Error)
				continue
			}
			err, got = lerr, lgot
		}
		if err != nil {
			errs++
		}
		var q any
		want := ""
		if y.Tree != "" {
			json.Unmarshal([]byte(y.Tree), &q)
			w, _ := json.Marshal(q)
			want = string(w)
		}
		if (err != nil) != (y.Error != "") || want != got {
			bad++
			fmt.Printf("JSDIFF %s fast=%v ours %v js %q\n%q\nours %s\n js  %s\n", x.Name, usedFast, err, y.Error, x.Text, got, want)
		}
	}
	fmt.Printf("%s: n=%d fast=%d errs=%d readerdiffs=%d jsdiffs=%d\n", name, n, fast, errs, badfast, bad)
}
