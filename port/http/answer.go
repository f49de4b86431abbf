package http

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-dev/writ/artifact"
	"github.com/writ-dev/writ/engine"
	"github.com/writ-dev/writ/graph"
	"github.com/writ-dev/writ/match"
)

// answer turns a response into an outcome.
func (s *sending) answer(ctx context.Context, resp *http.Response) (engine.Outcome, error) {
	if !s.allows(resp.StatusCode) {
		return s.failure(resp), nil
	}
	body, truncated, err := s.read(resp.Body)
	if err != nil {
		return s.broken(ctx, err)
	}
	return engine.Outcome{Result: s.result(resp, body, truncated)}, nil
}

func (s *sending) allows(status int) bool {
	if s.Statuses == nil {
		return status >= 200 && status <= 299
	}
	return slices.Contains(s.Statuses, status)
}

// read reads a body up to the cap. It reads a little further, so that no part of a
// credential is left where the cap cuts through one.
func (s *sending) read(body io.Reader) (text string, truncated bool, err error) {
	slack := uint64(1 + s.secrets.Longest())
	data, err := io.ReadAll(io.LimitReader(body, int64(min(s.cap, 1<<40)+slack)))
	truncated = uint64(len(data)) > s.cap
	text = s.secrets.Text(string(data))
	if uint64(len(text)) > s.cap {
		text, truncated = text[:s.cap], true
	}
	return text, truncated, err
}

func (s *sending) result(resp *http.Response, body string, truncated bool) artifact.Value {
	var headers []artifact.Member
	for _, name := range s.Answer {
		if values := resp.Header.Values(name); values != nil {
			headers = append(headers, artifact.Member{Name: name, Value: artifact.StringValue(validText(s.secrets.Text(strings.Join(values, ", "))))})
		}
	}
	text, encoding := body, "text"
	if truncated {
		text = match.WholeRunes(text)
	}
	var parsed artifact.Value
	switch {
	case !utf8.ValidString(text):
		text, encoding = base64.StdEncoding.EncodeToString([]byte(body)), "base64"
	case !truncated && isJSON(resp.Header.Get("Content-Type")):
		if v, err := artifact.ParseValue([]byte(text)); err == nil {
			parsed = v
		}
	}
	return artifact.ObjectValue(
		artifact.Member{Name: "status", Value: artifact.IntValue(int64(resp.StatusCode))},
		artifact.Member{Name: "headers", Value: artifact.ObjectValue(headers...)},
		artifact.Member{Name: "body", Value: artifact.StringValue(text)},
		artifact.Member{Name: "encoding", Value: artifact.StringValue(encoding)},
		artifact.Member{Name: "json", Value: parsed},
		artifact.Member{Name: "bytes", Value: artifact.IntValue(int64(len(body)))},
		artifact.Member{Name: "truncated", Value: artifact.BoolValue(truncated)},
	)
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// quotedBytes is how much of a refusal's body an error quotes.
const quotedBytes = 512

// failure gives the outcome of a status that is no result.
func (s *sending) failure(resp *http.Response) engine.Outcome {
	text := "the answer is " + strconv.Itoa(resp.StatusCode)
	if name := http.StatusText(resp.StatusCode); name != "" {
		text += " " + name
	}
	if s.refused != "" && resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		return engine.Failed(ClassRedirect, text+", a redirect "+s.refused+", which is not followed")
	}
	if after, ok := retryAfter(resp); ok {
		text += fmt.Sprintf(", retry after %d s", after)
	}
	s.cap = quotedBytes
	body, _, _ := s.read(resp.Body) // as far as there is one
	body = strings.TrimSpace(match.WholeRunes(body))
	if kind := resp.Header.Get("Content-Type"); body != "" && utf8.ValidString(body) && (isJSON(kind) || strings.HasPrefix(kind, "text/plain")) {
		text += ": " + body
	}
	o := engine.Failed(statusClass(resp.StatusCode), text)
	o.Retryable = o.Class == graph.ClassRateLimited || o.Class == graph.ClassUnavailable || o.Class == graph.ClassTimeout
	return o
}

// statusClass gives the class of a status, for retry policies.
func statusClass(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return graph.ClassRateLimited
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return graph.ClassTimeout
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return graph.ClassUnavailable
	case http.StatusConflict, http.StatusPreconditionFailed, http.StatusLocked:
		return graph.ClassConflict
	}
	if status >= 500 {
		return graph.ClassInternal
	}
	return graph.ClassInvalid
}

// maxRetryAfter is a day in seconds.
const maxRetryAfter = 24 * 60 * 60

// retryAfter gives the seconds of a Retry-After header: a number, or a time by the
// clock of the other side.
func retryAfter(resp *http.Response) (seconds uint64, ok bool) {
	value := resp.Header.Get("Retry-After")
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		return min(n, maxRetryAfter), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	wait := at.Sub(now)
	return uint64(min(max(0, (wait+time.Second-1)/time.Second), maxRetryAfter)), true
}
