package model

import "strings"

// AppendDocuments appends the documents as text, for providers that have no
// documents of their own. Each stands in an envelope:
//
//	<document id="…" title="…" source="…" sha256="…">
//	text
//	</document>
//
// Attributes that are empty are left out. In a text every < that begins an
// envelope or ends one, in any case and with blanks inside, is written &lt;, so
// that no document can close its envelope or forge another one.
func AppendDocuments(dst []byte, documents []Document) []byte {
	for i, d := range documents {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, "<document"...)
		dst = appendAttribute(dst, "id", d.ID)
		dst = appendAttribute(dst, "title", d.Title)
		dst = appendAttribute(dst, "source", d.Source)
		if !d.Digest.IsZero() {
			dst = appendAttribute(dst, "sha256", d.Digest.Hex())
		}
		dst = append(dst, ">\n"...)
		dst = appendContent(dst, d.Text)
		dst = append(dst, "\n</document>\n"...)
	}
	return dst
}

var attributeEscapes = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")

func appendAttribute(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(dst, ' ')
	dst = append(dst, name...)
	dst = append(dst, `="`...)
	dst = append(dst, attributeEscapes.Replace(value)...)
	return append(dst, '"')
}

// appendContent appends a text in which nothing is an envelope.
func appendContent(dst []byte, text string) []byte {
	for {
		i := strings.IndexByte(text, '<')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		if isEnvelope(text[i+1:]) {
			dst = append(dst, "&lt;"...)
		} else {
			dst = append(dst, '<')
		}
		text = text[i+1:]
	}
}

// isEnvelope reports whether what follows a < is the name of an envelope.
func isEnvelope(rest string) bool {
	const name = "document"
	rest = strings.TrimLeft(rest, " \t\r\n/")
	return len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name)
}
