package event

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/writ-dev/writ/artifact"
)

// script writes events in short: "node.visit.attempt type detail". The detail is
// an effect's key, a timer's or branch's name, or what else tells two apart.
func script(t *testing.T, lines string) []Event {
	t.Helper()
	var events []Event
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e := Event{Header: Header{Seq: uint64(len(events) + 1)}}
		if words[0] != "-" {
			if _, err := fmt.Sscanf(words[0], "%1s.%d.%d", &e.Node, &e.Visit, &e.Attempt); err != nil {
				t.Fatal(line, err)
			}
		}
		detail := ""
		if len(words) > 2 {
			detail = words[2]
		}
		e.Body = scripted(t, words[1], detail, e.Seq)
		e.Type = e.Body.Type()
		events = append(events, e)
	}
	return events
}

// scripted makes a payload. The state never changes but in its revision.
func scripted(t *testing.T, typ, detail string, seq uint64) Payload {
	t.Helper()
	number := uint64(0)
	_, _ = fmt.Sscan(detail, &number)
	state := digestOf("state")
	end := End{State: state, Revision: number, Events: seq}
	switch typ {
	case "start":
		return &Started{State: state}
	case "fork":
		return &Started{State: state, Parent: &Link{Kind: LinkFork}}
	case "node":
		return &NodeStarted{}
	case "patch":
		return &StatePatched{Revision: number, State: state}
	case "routed":
		return &Routed{}
	case "retry":
		return &Retrying{Attempt: uint32(number)}
	case "request":
		return &EffectRequested{Key: detail}
	case "allow":
		return &EffectAuthorized{Key: detail}
	case "deny":
		return &EffectDenied{Key: detail}
	case "settle":
		return &EffectSettled{Key: detail}
	case "fail":
		return &EffectFailed{Key: detail}
	case "unknown":
		return &EffectUnknown{Key: detail}
	case "stage":
		return &ApprovalStaged{Proposal: digestOf(detail)}
	case "pending":
		return &ApprovalDecided{Proposal: digestOf(detail), Quorum: QuorumPending}
	case "decide":
		return &ApprovalDecided{Proposal: digestOf(detail), Quorum: QuorumApproved}
	case "suspend":
		return &Suspended{}
	case "resume":
		return &Resumed{}
	case "set":
		return &TimerSet{Timer: detail}
	case "fired":
		return &TimerFired{Timer: detail}
	case "stopped":
		return &TimerStopped{Timer: detail}
	case "wait":
		return &WaitStarted{Wait: detail}
	case "received":
		return &EventReceived{Wait: detail}
	case "branch":
		return &BranchStarted{Branch: detail}
	case "joined":
		return &BranchJoined{Branch: detail}
	case "call":
		return &CallStarted{Exec: detail}
	case "returned":
		return &CallReturned{Exec: detail}
	case "checkpoint":
		return &Checkpointed{State: state, Revision: number}
	case "migrate":
		return &Migrated{}
	case "cancel":
		return &CancelRequested{}
	case "terminated":
		return &Terminated{End: end}
	case "failed":
		return &Failed{End: end}
	case "cancelled":
		return &Cancelled{End: end}
	case "abandoned":
		return &Abandoned{End: end}
	}
	t.Fatalf("no such word: %s", typ)
	return nil
}

func check(events []Event) error {
	var k Check
	for _, e := range events {
		if err := k.Add(e); err != nil {
			return err
		}
	}
	return nil
}

func TestCheckAllows(t *testing.T) {
	for name, lines := range map[string]string{
		"nothing":         ``,
		"start":           `- start`,
		"fork":            "- fork\n a.7.1 node\n a.7.1 routed\n a.8.1 node\n b.1.1 node",
		"one node":        "- start\n a.1.1 node\n a.1.1 terminated",
		"loop":            "- start\n a.1.1 node\n a.1.1 routed\n a.2.1 node\n a.2.1 patch 1\n a.2.1 routed\n a.3.1 node\n a.3.1 terminated 1",
		"retry":           "- start\n a.1.1 node\n a.1.1 retry 2\n a.1.2 node\n a.1.2 retry 3\n a.1.3 node\n a.1.3 failed",
		"limit":           "- start\n a.1.1 node\n a.1.1 routed\n b.1.1 failed",
		"effect denied":   "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 deny k\n a.1.1 routed",
		"effect":          "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 settle k\n a.1.1 request l\n a.1.1 allow l\n a.1.1 fail l\n a.1.1 routed",
		"same key, later": "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 deny k\n a.1.1 routed\n a.2.1 node\n a.2.1 request k",
		"asked later":     "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 unknown k\n a.1.1 suspend\n a.1.1 settle k\n a.1.1 resume\n a.1.1 routed",
		"done again":      "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 unknown k\n a.1.1 allow k\n a.1.1 settle k\n a.1.1 routed",
		"refused again":   "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 unknown k\n a.1.1 deny k\n a.1.1 routed",
		"suspend at entry": "- start\n a.1.1 node\n a.1.1 patch 1\n a.1.1 suspend\n - checkpoint 1\n a.1.1 resume\n a.1.1 suspend\n" +
			"a.1.1 resume\n a.1.1 routed",
		"approval":       "- start\n a.1.1 node\n a.1.1 stage p\n a.1.1 suspend\n a.1.1 pending p\n a.1.1 decide p\n a.1.1 resume\n a.1.1 stage p",
		"timer":          "- start\n - set t\n a.1.1 node\n - fired t\n a.1.1 set t\n a.1.1 stopped t",
		"wait":           "- start\n a.1.1 node\n a.1.1 wait w\n a.1.1 suspend\n a.1.1 received w\n a.1.1 resume\n a.1.1 wait w\n a.1.1 routed",
		"call":           "- start\n a.1.1 node\n a.1.1 call x\n a.1.1 suspend\n a.1.1 returned x\n a.1.1 resume\n a.1.1 routed",
		"branches":       "- start\n f.1.1 node\n f.1.1 branch x\n f.1.1 branch y\n f.1.1 routed\n b.1.1 node\n a.1.1 node\n a.1.1 routed\n f.1.1 joined x\n b.1.1 suspend\n b.1.1 resume\n b.1.1 routed\n f.1.1 joined y\n j.1.1 node\n j.1.1 terminated",
		"open fork":      "- start\n f.1.1 node\n f.1.1 branch x\n f.1.1 joined x\n f.1.1 routed",
		"cancel":         "- start\n a.1.1 node\n - cancel\n a.1.1 request k\n a.1.1 allow k\n a.1.1 cancelled",
		"abandon":        "- start\n a.1.1 node\n a.1.1 suspend\n - abandoned",
		"migrate":        "- start\n a.1.1 node\n a.1.1 suspend\n - migrate\n - patch 1\n a.1.1 resume",
		"effect dropped": "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 failed",
	} {
		if err := check(script(t, lines)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	// The last event of each is the one that may not stand there.
	for name, lines := range map[string]string{
		"no start":               `a.1.1 node`,
		"two starts":             "- start\n - start",
		"start of a node":        `a.1.1 start`,
		"visit 2 first":          "- start\n a.2.1 node",
		"visit skipped in fork":  "- fork\n a.7.1 node\n a.7.1 routed\n a.9.1 node",
		"attempt 2 first":        "- start\n a.1.2 node",
		"visit again":            "- start\n a.1.1 node\n a.1.1 routed\n a.1.1 node",
		"visit skipped":          "- start\n a.1.1 node\n a.1.1 routed\n a.3.1 node",
		"two visits at once":     "- start\n a.1.1 node\n a.2.1 node",
		"patch, not started":     "- start\n a.1.1 patch 1",
		"patch of no node":       "- start\n - patch 1",
		"patch twice":            "- start\n a.1.1 node\n a.1.1 patch 1\n a.1.1 patch 1",
		"patch skipped":          "- start\n a.1.1 node\n a.1.1 patch 2",
		"patch of other visit":   "- start\n a.1.1 node\n a.2.1 patch 1",
		"patch of other attempt": "- start\n a.1.1 node\n a.1.2 patch 1",
		"patch after routed":     "- start\n a.1.1 node\n a.1.1 routed\n a.1.1 patch 1",
		"patch after migration":  "- start\n - migrate\n - checkpoint\n - patch 1",
		"retry of nothing":       "- start\n a.1.1 node\n a.1.1 routed\n a.1.1 retry 2",
		"retry to the same":      "- start\n a.1.1 node\n a.1.1 retry 1",
		"work before attempt 2":  "- start\n a.1.1 node\n a.1.1 retry 2\n a.1.2 patch 1",
		"old attempt":            "- start\n a.1.1 node\n a.1.1 retry 2\n a.1.2 node\n a.1.1 patch 1",
		"allowed unrequested":    "- start\n a.1.1 node\n a.1.1 allow k",
		"settled unauthorized":   "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 settle k",
		"settled after denial":   "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 deny k\n a.1.1 settle k",
		"settled twice":          "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 settle k\n a.1.1 settle k",
		"denied under way":       "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 deny k",
		"requested twice":        "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 deny k\n a.1.1 request k",
		"unknown, not begun":     "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 unknown k",
		"routed, no outcome":     "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 routed",
		"routed, undecided":      "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 routed",
		"retried, unknown":       "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 unknown k\n a.1.1 retry 2",
		"terminated, no outcome": "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n a.1.1 terminated",
		"effect of other visit":  "- start\n a.1.1 node\n b.1.1 node\n a.1.1 request k\n b.1.1 allow k",
		"work while suspended":   "- start\n a.1.1 node\n a.1.1 suspend\n a.1.1 patch 1",
		"routed while suspended": "- start\n a.1.1 node\n a.1.1 suspend\n a.1.1 routed",
		"ended while suspended":  "- start\n a.1.1 node\n a.1.1 suspend\n a.1.1 terminated",
		"suspended twice":        "- start\n a.1.1 node\n a.1.1 suspend\n a.1.1 suspend",
		"resumed twice":          "- start\n a.1.1 node\n a.1.1 suspend\n a.1.1 resume\n a.1.1 resume",
		"resumed, not suspended": "- start\n a.1.1 node\n a.1.1 resume",
		"staged twice":           "- start\n a.1.1 node\n a.1.1 stage p\n a.1.1 stage p",
		"decided unstaged":       "- start\n a.1.1 node\n a.1.1 decide p",
		"decided twice":          "- start\n a.1.1 node\n a.1.1 stage p\n a.1.1 decide p\n a.1.1 decide p",
		"fired unset":            "- start\n - fired t",
		"fired twice":            "- start\n - set t\n - fired t\n - fired t",
		"fired after stop":       "- start\n - set t\n - stopped t\n - fired t",
		"set twice":              "- start\n - set t\n - set t",
		"received unasked":       "- start\n a.1.1 node\n a.1.1 received w",
		"received twice":         "- start\n a.1.1 node\n a.1.1 wait w\n a.1.1 received w\n a.1.1 received w",
		"waits twice":            "- start\n a.1.1 node\n a.1.1 wait w\n a.1.1 wait w",
		"branch twice":           "- start\n f.1.1 node\n f.1.1 branch x\n f.1.1 joined x\n f.1.1 branch x",
		"joined twice":           "- start\n f.1.1 node\n f.1.1 branch x\n f.1.1 joined x\n f.1.1 joined x",
		"joined unknown":         "- start\n f.1.1 node\n f.1.1 joined x",
		"fork again":             "- start\n f.1.1 node\n f.1.1 branch x\n f.1.1 routed\n f.2.1 node",
		"returned uncalled":      "- start\n a.1.1 node\n a.1.1 returned x",
		"routed during a call":   "- start\n a.1.1 node\n a.1.1 call x\n a.1.1 routed",
		"called twice":           "- start\n a.1.1 node\n a.1.1 call x\n a.1.1 call x",
		"other state":            "- start\n - checkpoint 1",
		"cancelled unasked":      "- start\n - cancelled",
		"cancel twice":           "- start\n - cancel\n - cancel",
		"migrated under way":     "- start\n a.1.1 node\n a.1.1 request k\n a.1.1 allow k\n - migrate",
		"node migrated":          "- start\n a.1.1 migrate",
		"node abandoned":         "- start\n a.1.1 node\n a.1.1 abandoned",
		"terminated, no node":    "- start\n - terminated",
		"other final state":      "- start\n a.1.1 node\n a.1.1 patch 1\n a.1.1 terminated 0",
		"after the end":          "- start\n a.1.1 node\n a.1.1 terminated\n - set t",
		"ended twice":            "- start\n - failed\n - failed",
	} {
		events := script(t, lines)
		err := check(events)
		var order *OrderError
		if !errors.As(err, &order) || order.Seq != uint64(len(events)) {
			t.Errorf("%s: got %v, want event %d refused", name, err, len(events))
		}
	}
	wrongCount := script(t, "- start\n - failed")
	wrongCount[1].Body.(*Failed).Events = 3
	if check(wrongCount) == nil {
		t.Error("a wrong count of events is accepted")
	}
	gap := script(t, "- start\n - set t")
	gap[1].Seq = 3
	if check(gap) == nil {
		t.Error("a gap is accepted")
	}
}

func TestCheckRun(t *testing.T) {
	var k Check
	for _, r := range aRun(t) {
		e, err := r.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if revision, state := k.State(); !k.Ended() || revision != 3 || state != digestOf(`{"n":3}`) {
		t.Errorf("ended %t, revision %d", k.Ended(), revision)
	}
}

// TestCheckForgets bounds what a long log leaves behind: as many events again
// must not make Check larger.
func TestCheckForgets(t *testing.T) {
	var k Check
	add := func(node string, visit uint32, p Payload) {
		t.Helper()
		e := Event{Header: Header{Seq: k.seq + 1, Node: node, Visit: visit, Type: p.Type()}, Body: p}
		if node != "" {
			e.Attempt = 1
		}
		if err := k.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	add("", 0, &Started{State: digestOf("s")})
	for i := range uint32(1000) {
		key := fmt.Sprint(i)
		add("a", i+1, &NodeStarted{})
		add("a", i+1, &EffectRequested{Key: key})
		add("a", i+1, &EffectDenied{Key: key})
		add("a", i+1, &TimerSet{Timer: key})
		add("a", i+1, &TimerFired{Timer: key})
		add("a", i+1, &ApprovalStaged{Proposal: artifact.Sum([]byte(key))})
		add("a", i+1, &ApprovalDecided{Proposal: artifact.Sum([]byte(key)), Quorum: QuorumDenied})
		add("a", i+1, &Routed{})
	}
	if len(k.nodes) != 1 || len(k.nodes["a"].effects) != 0 || len(k.timers) != 0 || len(k.proposals) != 0 {
		t.Errorf("keeps %d nodes, %d effects, %d timers, %d proposals", len(k.nodes), len(k.nodes["a"].effects), len(k.timers), len(k.proposals))
	}
}
