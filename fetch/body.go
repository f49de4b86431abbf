package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// refuseStatus refuses everything but success, and a part where the whole was
// asked for.
func refuseStatus(answer *http.Response) *Refusal {
	code := answer.StatusCode
	text := fmt.Sprintf("%d %s", code, http.StatusText(code))
	switch {
	case code == http.StatusPartialContent:
		return refuse(Incomplete, text, "the server sent a part; try again later")
	case code >= 200 && code < 300:
		return nil
	}
	r := refuse(Status, text, adviceFor(code))
	r.Status = code
	return r
}

func adviceFor(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return "writ sends no credentials; fetch the file yourself and name the copy"
	case status == http.StatusNotFound, status == http.StatusGone:
		return "check the spelling of the location"
	case status == http.StatusTooManyRequests, status >= 500:
		return "try again later"
	}
	return "ask the publisher"
}

func refuseTooLarge(n, limit int64) *Refusal {
	return refuse(TooLarge, fmt.Sprintf("response too large: %d bytes exceeds cap %d", n, limit), "ask the publisher to split it")
}

// read reads and decompresses a body. Both what comes over the network and what
// it unfolds to stay below the ceiling.
func (x *exchange) read(ctx context.Context, t target, answer *http.Response) ([]byte, *Refusal) {
	limit := x.request.MaxBytes
	if answer.ContentLength > limit {
		return nil, refuseTooLarge(answer.ContentLength, limit)
	}
	if refusal := x.checkType(answer.Header.Get("Content-Type")); refusal != nil {
		return nil, refusal
	}
	raw := &counted{r: answer.Body, left: limit}
	var reader io.Reader = raw
	switch encoding := strings.ToLower(strings.Join(answer.Header.Values("Content-Encoding"), ",")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		reader = &unzipped{raw: raw}
	default:
		return nil, refuse(BadEncoding, fmt.Sprintf("the body is encoded as %.40q, and only gzip was offered", encoding),
			"the server is at fault; ask the publisher")
	}
	size := max(answer.ContentLength, 512) + 1 // one more, to see the end without growing
	buffer := bytes.NewBuffer(make([]byte, 0, min(size, limit+1)))
	_, err := io.Copy(buffer, io.LimitReader(reader, limit+1))
	switch {
	case int64(buffer.Len()) > limit, err == errOverLimit:
		return nil, refuse(TooLarge, fmt.Sprintf("response too large: exceeded cap %d bytes while reading %s", limit, t.url),
			"ask the publisher to split it")
	case err != nil:
		return nil, x.failed(ctx, t, err)
	}
	if refusal := x.checkText(answer.Header.Get("Content-Type"), buffer.Bytes()); refusal != nil {
		return nil, refusal
	}
	return buffer.Bytes(), nil
}

// counted reads no more than a number of bytes.
type counted struct {
	r    io.Reader
	left int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, errOverLimit
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	c.left -= int64(n)
	if c.left < 0 {
		return 0, errOverLimit
	}
	return n, err
}

// unzipped decompresses, and begins only when it is read: an empty body, as some
// servers send it, is empty.
type unzipped struct {
	raw io.Reader
	zip *gzip.Reader
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.zip == nil {
		zip, err := gzip.NewReader(u.raw)
		if err != nil {
			return 0, err
		}
		u.zip = zip
	}
	return u.zip.Read(p)
}

// checkType refuses what its type says is no text, before it is read.
func (x *exchange) checkType(contentType string) *Refusal {
	if !x.request.Text {
		return nil
	}
	kind, _, _ := strings.Cut(mediaType(contentType), "/")
	switch kind {
	case "image", "audio", "video", "font", "model", "multipart":
		return refuse(ContentType, fmt.Sprintf("the content type is %.60q, not text", mediaType(contentType)),
			"check that the location leads to the file itself")
	}
	return nil
}

// checkText refuses a page of HTML in the place of text, as a server gives it
// to whoever is not logged in.
func (x *exchange) checkText(contentType string, body []byte) *Refusal {
	if !x.request.Text {
		return nil
	}
	head := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(body[:min(len(body), 512)], []byte("\ufeff"))))
	page := bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
	switch mediaType(contentType) {
	case "text/html", "application/xhtml+xml":
		page = page || bytes.HasPrefix(head, []byte("<")) && !bytes.HasPrefix(head, []byte("<<"))
	}
	if !page {
		return nil
	}
	if len(x.hops) > 1 {
		return refuse(HTML, "an HTML page, not YAML or plain text", "the redirect may lead to a login page; name the raw file")
	}
	return refuse(HTML, "an HTML page, not YAML or plain text", "name the raw file, not the page that shows it")
}

// mediaType gives the type in lower case and without its parameters.
func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(kind))
}
