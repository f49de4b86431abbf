package fetch

import (
	"context"
	"net/http"

	"github.com/writ-dev/writ/guard"
)

// exchange is one Get: a request, its redirects, and a body.
type exchange struct {
	client  *Client
	caller  context.Context // ends when the caller gives up, not at our deadline
	request Request
	hops    []string
}

func (x *exchange) run(ctx context.Context) (*Response, *Refusal) {
	t, refusal := x.client.parseTarget(x.request.URL)
	if refusal != nil {
		return nil, refusal
	}
	first := t
	for {
		x.hops = append(x.hops, t.url.String())
		bound := x.request.Within != "" && (len(x.hops) == 1 || !x.request.Vouched)
		if bound && leaves(t.url, x.request.Within) {
			return nil, x.at(refuse(Outside, "outside the manifest's folder "+x.request.Within,
				"serve the file below its manifest, or give it a content_hash"))
		}
		response, next, refusal := x.hop(ctx, t, first.origin() == t.origin())
		if refusal != nil {
			return nil, x.at(refusal)
		}
		if response != nil {
			response.URL, response.Hops = t.url.String(), x.hops
			return response, nil
		}
		if len(x.hops) > MaxRedirects {
			return nil, x.at(refuse(TooManyRedirects, "too many redirects (>5) starting at "+first.url.String(),
				"name the location where the file is"))
		}
		if t, refusal = x.client.resolve(t, next); refusal != nil {
			x.hops = append(x.hops, withoutCredentials(next))
			return nil, x.at(refusal)
		}
	}
}

// at says at which hop a refusal happened.
func (x *exchange) at(r *Refusal) *Refusal {
	if r.Hop = len(x.hops) - 1; r.Hop > 0 {
		r.At = x.hops[r.Hop]
	}
	return r
}

// hop asks one URL. It gives a response, or where a redirect leads, or a
// refusal.
func (x *exchange) hop(ctx context.Context, t target, sameOrigin bool) (response *Response, next string, refusal *Refusal) {
	kept := x.client.o.Cache.find(t.url.String())
	answer, refusal := x.send(ctx, t, sameOrigin, kept)
	if refusal != nil {
		return nil, "", refusal
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotModified && kept != nil {
		if int64(len(kept.body)) > x.request.MaxBytes {
			return nil, "", refuseTooLarge(int64(len(kept.body)), x.request.MaxBytes)
		}
		if refusal := x.checkText(kept.ContentType, kept.body); refusal != nil {
			return nil, "", refusal
		}
		return &Response{Bytes: kept.body, Cached: true}, "", nil
	}
	if answer.StatusCode >= 300 && answer.StatusCode < 400 {
		next = answer.Header.Get("Location")
		if next == "" {
			return nil, "", refuse(BadRedirect, "redirect with no Location from "+t.url.String(), "the server is at fault; try again later")
		}
		return nil, next, nil
	}
	if refusal := refuseStatus(answer); refusal != nil {
		return nil, "", refusal
	}
	body, refusal := x.read(ctx, t, answer)
	if refusal != nil {
		return nil, "", refusal
	}
	x.client.o.Cache.keep(t.url.String(), answer.Header, body)
	return &Response{Bytes: body}, "", nil
}

// send sends the request and gives the head of the answer.
func (x *exchange) send(ctx context.Context, t target, sameOrigin bool, kept *keptBody) (*http.Response, *Refusal) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return nil, refuse(BadURL, "not a valid URL: "+t.url.String(), adviceRespell)
	}
	request.Header.Set("Accept", "*/*")
	request.Header.Set("Accept-Encoding", "gzip")
	request.Header.Set("User-Agent", x.client.o.UserAgent)
	if sameOrigin && !x.request.Trace.IsZero() {
		request.Header.Set("traceparent", x.request.Trace.String())
	}
	kept.ask(request.Header)
	transport := x.client.https
	if t.url.Scheme == "http" {
		transport = x.client.http
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, x.failed(ctx, t, err)
	}
	return answer, nil
}

// refuseAddress turns the guard's verdict into a refusal.
func (c *Client) refuseAddress(err error) *Refusal {
	refused := err.(*guard.Error)
	switch {
	case refused.OfPort():
		return refuse(BadPort, refused.Error(), "serve the file on another port")
	case refused.Row.Name == "":
		return refuseCleartext(refused.Host)
	case refused.Row.Reach == guard.Private:
		return refuse(Private, "refused private/loopback/link-local address "+refused.Addr.String()+" for '"+refused.Host+
			"' (pass --allow-private-hosts to permit local and internal manifests)", adviceGiven)
	case refused.Row.Reach == guard.Translated && !c.o.AllowPrivateHosts:
		return refuse(Private, refused.Error()+" (pass --allow-private-hosts on a network that translates addresses)", adviceGiven)
	}
	return refuse(Private, refused.Error()+" ("+refused.Row.Source+"; no option permits it)", "name a public host")
}
