package fetch

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// hostileHosts holds hosts that no request may reach, with the code of the
// refusal, in the spellings that some reader of URLs takes for an address.
var hostileHosts = map[Code]string{
	Private: `
		127.0.0.1 127.0.0.1. 127.1 127.0.1 2130706433 0x7f000001 0X7F000001 017700000001 0x7f.1 0x7f.0.0.1 0177.0.0.1
		0177.0x0.0.1 127.0.0.0x1 127.0x1 127.0.0.01 127.000.000.001 00000177.0.0.1 127.0.0.0x01. 127.255.255.254 127.0.0.53
		１２７.０.０.１ 127。0。0。1 127．0．0．1 127｡0｡0｡1 ①②⑦.0.0.1 １２７。1 𝟙𝟚𝟟.0.0.1 127.0.0.₁
		localhost LOCALHOST localhost. a.localhost a.b.LOCALHOST. ｌｏｃａｌｈｏｓｔ ⓛocalhost
		10.0.0.1 10.255.255.255 167772161 0xa000001 012.0.0.1 10.1 172.16.0.1 172.31.255.255 0xac100001 192.168.0.1
		192.168.257 3232235777 0xc0a80101 0300.0250.1.1 100.64.0.1 100.127.255.255
		169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 0xa9.0xfe.0xa9.0xfe 169.254.170.2 169.254.0.1
		100.100.100.200 1684300232 168.63.129.16 2822734096 192.0.0.192 192.0.0.170
		0.0.0.0 0 0x0 0x 0.0 00000 0.0.0.1 192.0.2.1 198.51.100.7 203.0.113.7 198.18.0.1 192.88.99.1 192.31.196.1 192.52.193.1
		192.175.48.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 4294967295 0xffffffff
		[::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0.0.0.1] [::] [0::0]
		[::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:10.0.0.1] [::ffff:a9fe:a9fe]
		[::ffff:169.254.169.254] [::ffff:c0a8:101] [::ffff:0.0.0.0] [::ffff:a83f:8110]
		[::127.0.0.1] [::7f00:1] [::10.0.0.1] [::8.8.8.8] [::ffff:0:127.0.0.1] [::ffff:0:808:808]
		[64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe] [64:ff9b::10.0.0.1] [64:ff9b::8.8.8.8] [64:ff9b:1::1]
		[64:ff9b:1:ffff::7f00:1] [2002:7f00:1::] [2002:a00:1::1] [2002:a9fe:a9fe::1] [2002:808:808::1]
		[2001:0:4136:e378:8000:63bf:3fff:fdd2] [2001::1] [2001:db8::1] [2001:2::1] [2001:10::1] [2001:20::1] [3fff::1] [5f00::1]
		[100::1] [100:0:0:1::1] [fe80::1] [fe90::1] [febf:ffff::1] [fec0::1] [fc00::1] [fd00::1] [fdff::1] [fd00:ec2::254]
		[fd20:ce::254] [fd00:c1::a9fe:a9fe] [fd00:42::42] [ff02::1] [ff0e::1] [4000::1] [8000::1] [2620:4f:8000::1]
		[2606:4700::5efe:7f00:1] [fe80::1%25eth0] [::1%25lo] [2606:4700::1%25eth0] [::1%25lo%25x]`,
	BadHost: `
		example.com. 134744072 0x08080808 010.8.8.8 8.8.2056 1.2.3.4.5 256.1.1.1 1.2.3.256 4294967296 0x100000000 08 1..2 127.0.0.1..
		.example a..b -a.test a-.test *.test a,b xn-- xn--a ١٢٧.0.0.1 a&b a'b a!b a;b a=b ~ <a>
		aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test ` + "a\u200db.test \u202eexample.test",
}

// hostileURLs holds whole URLs. MARK stands for a host that would be dialled if
// the URL were read wrongly.
var hostileURLs = []struct {
	code Code
	urls []string
}{
	{BadURL, []string{
		"", "https", "https:", "https:/", "https://", "https:///x", "https://:443/", "https:MARK", "https:/MARK/x", "/etc/passwd",
		"//MARK/x", `https:\\MARK\x`, `https:/\MARK/x`, `https://MARK\@127.0.0.1/`, `https://127.0.0.1\.MARK/`, " https://MARK/", "https://MARK/ x",
		"https://MARK/\tx", "https://MARK/\r\nHost:x", "https://MA\nRK/", "https://MARK/\x00", "https://MARK/\x7f", "https://MARK/\u0085",
		"https://MARK:99999/", "https://MARK:-1/", "https://MARK:x/", "https://MARK:443:443/", "https://[MARK", "https://[::1/", "https://::1/",
		"https://%31%32%37.0.0.1/", "https://127.0.0.1%00.MARK/", "https://MARK/%zz", "https://MARK%2e/", "https://[127.0.0.1]/", "https://[::ffff:1.2.3.256]/",
		"https://[v1.a:b]/", "https://[::g]/", "https://[]/", "https://a|b/", "https://a^b/",
		"https://" + strings.Repeat("a", 9000) + "/", "\ufeffhttps://MARK/",
	}},
	{BadScheme, []string{
		"ftp://MARK/x", "file:///etc/passwd", "file://MARK/x", "gopher://MARK:70/_x", "data:text/plain,x", "javascript:alert(1)", "ws://MARK/",
		"wss://MARK/", "dict://MARK:11111/", "ldap://MARK/", "sftp://MARK/", "tftp://MARK/", "jar:https://MARK/x!/", "unix:///run/x.sock",
		"netdoc:///x", "mailto:a@MARK", "httpss://MARK/", "https+unix://MARK/", "git+https://MARK/x.git", "view-source:https://MARK/",
	}},
	{Credentials, []string{
		"https://user@MARK/", "https://user:secret@MARK/", "https://:secret@MARK/", "https://@MARK/", "https://a@b@MARK/", "https://MARK@127.0.0.1/",
		"https://MARK%40x@127.0.0.1/", "https://127.0.0.1@MARK/", "https://MARK:443@169.254.169.254/", "https://u:p@[::1]/", "HTTPS://user:secret@MARK/x", "https://MARK%2f@x/",
	}},
	{BadPort, []string{
		"https://MARK:0/", "https://MARK:22/", "https://MARK:25/", "https://MARK:465/", "https://MARK:587/", "https://MARK:6667/", "https://MARK:6000/",
		"https://MARK:110/", "https://MARK:143/", "https://MARK:995/", "https://MARK:10080/", "https://8.8.8.8:25/", "https://MARK:0025/",
	}},
	{Cleartext, []string{"http://MARK/", "http://8.8.8.8/x", "http://[2606:4700::1111]/", "http://MARK:443/", "HTTP://MARK/", "http://1.1.1.1:8080/", "http://unknown.test/"}},
	{Unresolved, []string{"https://unknown.test/", "https://xn--bcher-kva.test/", "https://a_b.test/", "https://empty.test/"}},
}

// hostile is one URL that must be refused.
type hostile struct {
	url  string
	code Code
}

func hostileTable() (table []hostile) {
	for code, hosts := range hostileHosts {
		for host := range strings.FieldsSeq(hosts) {
			table = append(table, hostile{"https://" + host + "/knowledge.yaml", code}, hostile{"https://" + host + ":8443", code}, hostile{"https://" + host + ":25/", code})
			if code == Private {
				table = append(table, hostile{"http://" + host + "/", code}, hostile{"HTTPS://" + host + "?q#f", code})
			}
		}
	}
	for _, group := range hostileURLs {
		for _, url := range group.urls {
			table = append(table, hostile{strings.ReplaceAll(url, "MARK", "good.test"), group.code})
		}
	}
	return table
}

func hostileWorld(t *testing.T) *world {
	w := newWorld(t)
	w.name("good.test", "8.8.8.8")
	w.name("empty.test", "")
	w.serve("/", func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	return w
}

// TestHostileURLs asks for each, and dials nobody.
func TestHostileURLs(t *testing.T) {
	w := hostileWorld(t)
	c := w.client(Options{})
	table := hostileTable()
	for _, h := range table {
		_, refusal := get(t, c, Request{URL: h.url}, h.code)
		if refusal != nil && (strings.Contains(refusal.Error(), "secret") || refusal.Hop != 0 || refusal.At != "" || refusal.Problem == "") {
			t.Errorf("%s: %+v", h.url, refusal)
		}
	}
	sameDialled(t, w, "all")
	t.Logf("%d hostile URLs", len(table))
}

// TestHostileRedirects reaches each by a redirect from a good server, which is
// the only one that is dialled.
func TestHostileRedirects(t *testing.T) {
	w := newWorld(t)
	w.name("good.test", "8.8.8.8")
	w.name("empty.test", "")
	var location string
	kinds := []int{301, 302, 303, 307, 308, 300, 305, 399}
	i := 0
	w.serve("good.test/start", func(rw http.ResponseWriter, r *http.Request) { redirect(kinds[i%len(kinds)], location)(rw, r) })
	w.serve("/", func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request arrived at %s for %q", r.URL, location)
	})
	c := w.client(Options{})
	count := 0
	for _, h := range hostileTable() {
		if h.code == BadURL || strings.ContainsFunc(h.url, func(r rune) bool { return r < ' ' }) {
			continue // relative ones are good, and control characters are below
		}
		location, i = h.url, i+1
		_, refusal := get(t, c, Request{URL: "https://good.test/start"}, h.code)
		if refusal != nil && (refusal.Hop != 1 || refusal.At == "" || refusal.Location != "https://good.test/start") {
			t.Errorf("%s: %+v", h.url, refusal)
		}
		count++
	}
	for _, h := range []hostile{
		{"//127.0.0.1/", Private}, {"///127.0.0.1/", ""}, {"//[::1]/x", Private}, {"//user@good.test/", Credentials}, {`/\127.0.0.1/`, BadURL},
		{`\\127.0.0.1\x`, BadURL}, {"//2130706433", Private}, {"https:127.0.0.1", BadURL}, {"http:127.0.0.1", BadURL}, {"http://good.test/", Cleartext},
		{"//good.test:25/", BadPort}, {"/%zz", BadURL}, {"https://[::1", BadURL}, {"javascript:x", BadScheme}, {"", BadRedirect},
	} {
		if h.code == "" {
			continue // a path on the same host, as browsers do not read it
		}
		location, i = h.url, i+1
		get(t, c, Request{URL: "https://good.test/start"}, h.code)
		count++
	}
	for _, dialled := range w.record() {
		if dialled != "8.8.8.8:443" {
			t.Errorf("dialled %s", dialled)
		}
	}
	t.Logf("%d hostile redirects", count)
}

// TestHostileNames resolves a good name to each bad address, alone, beside a
// good one, and only from the second answer on.
func TestHostileNames(t *testing.T) {
	w := newWorld(t)
	w.serve("/", func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	c := w.client(Options{})
	count := 0
	for host := range strings.FieldsSeq(hostileHosts[Private]) {
		host = strings.Trim(host, "[].")
		addr := net.ParseIP(host)
		if addr == nil {
			continue
		}
		for _, answer := range []string{host, "8.8.8.8 " + host, host + " 8.8.8.8", "2606:4700::1 8.8.8.8 1.1.1.1 " + host} {
			w.name("bad.test", answer)
			get(t, c, Request{URL: "https://bad.test/"}, Private)
			count++
		}
	}
	sameDialled(t, w, "all")
	t.Logf("%d hostile answers", count)
}

// TestResolverFlips gives a public address first, and a private one to whoever
// asks again: for the redirect, or for the next request.
func TestResolverFlips(t *testing.T) {
	w := newWorld(t)
	w.serve("flip.test/start", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Connection", "close")
		rw.Header().Set("Location", "https://flip.test:8443/secret")
		rw.WriteHeader(http.StatusFound)
	})
	w.serve("/", func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	for _, second := range []string{"127.0.0.1", "169.254.169.254", "::1", "10.0.0.7", "fd00::1", "8.8.8.8 127.0.0.1"} {
		c := w.client(Options{})
		w.name("flip.test", "8.8.8.8", second)
		_, refusal := get(t, c, Request{URL: "https://flip.test/start"}, Private)
		if refusal.Hop != 1 || refusal.At != "https://flip.test:8443/secret" {
			t.Errorf("%+v", refusal)
		}
		get(t, c, Request{URL: "https://flip.test:8443/"}, Private)
		sameDialled(t, w, second, "8.8.8.8:443")
	}
}

// TestLoopbackHearsNothing dials with the system's own dialer, and asks every
// spelling of the loopback address for the port of a listener.
func TestLoopbackHearsNothing(t *testing.T) {
	var heard int
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			heard++
			_ = conn.Close()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	c := New(Options{})
	defer c.Close()
	count := 0
	for host := range strings.FieldsSeq(hostileHosts[Private]) {
		for _, scheme := range []string{"https", "http"} {
			get(t, c, Request{URL: fmt.Sprintf("%s://%s:%d/", scheme, host, port)}, Private)
			count++
		}
	}
	_ = listener.Close()
	<-done
	if heard != 0 {
		t.Errorf("the listener heard %d connections", heard)
	}
	t.Logf("%d requests, none heard", count)
}

// TestNeverDialled opens private hosts and still reaches none of these.
func TestNeverDialled(t *testing.T) {
	w := hostileWorld(t)
	c := w.client(Options{AllowPrivateHosts: true})
	for _, host := range strings.Fields(`169.254.169.254 0xa9fea9fe [::ffff:169.254.169.254] [64:ff9b::a9fe:a9fe] 100.100.100.200 168.63.129.16
		192.0.0.192 [fd00:ec2::254] [fe80::1%25eth0] 0.0.0.0 0 255.255.255.255 224.0.0.1 [::] [2002:7f00:1::] [::127.0.0.1] 192.0.2.1 [2001:db8::1]`) {
		for _, scheme := range []string{"https", "http"} {
			_, refusal := get(t, c, Request{URL: scheme + "://" + host + "/"}, Private)
			if refusal != nil && strings.Contains(refusal.Error(), "--allow-private-hosts") {
				t.Errorf("%s: the advice is what was already done: %s", host, refusal)
			}
		}
	}
	w.name("meta.test", "10.0.0.1 169.254.169.254")
	get(t, c, Request{URL: "http://meta.test/"}, Private)
	w.name("public.test", "8.8.8.8")
	get(t, c, Request{URL: "http://public.test/"}, Cleartext)
	get(t, c, Request{URL: "http://8.8.8.8/"}, Cleartext)
	sameDialled(t, w, "all")
}
