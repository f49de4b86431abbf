package kcp

import "bytes"

// Parse reads one manifest with the default limits. Source says where the bytes
// came from; it is part of every error and is kept in the Manifest.
//
// The findings say what was written but not understood, in the order of the
// text: fields of the wrong type, entries that were dropped, values that change
// when read without quotes, probable misspellings. They are warnings. What makes
// a manifest invalid is for [Validate] to say.
//
// The error is a [*SyntaxError]. It means that the bytes are not one YAML
// mapping, or exceed a limit.
func Parse(data []byte, source string) (*Manifest, []Finding, error) {
	return ParseWith(data, source, Limits{})
}

// ParseWith is [Parse] with other limits.
//
// There are two readers and one decoder. The fast reader reads the YAML that
// manifests really use and gives up on everything else; then the library reader
// reads the text again from the start. Both give the same manifest and the same
// findings for whatever the fast reader accepts.
func ParseWith(data []byte, source string, limits Limits) (*Manifest, []Finding, error) {
	limits = limits.withDefaults()
	text, problem := checkInput(data, source, limits.MaxBytes)
	if problem != nil {
		return nil, nil, problem
	}
	d := newDecoder(source, text, limits)
	doubt, done := readFast(d, text)
	if !done {
		d = newDecoder(source, text, limits)
		readLibrary(d, text, doubt)
	}
	d.m.marked = bytes.HasPrefix(data, []byte(byteOrderMark))
	d.m.src = exactText(text, data)
	return d.finish()
}
