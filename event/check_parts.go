package event

import "fmt"

// add puts name into a set that is made on first use.
func add[K comparable](set *map[K]bool, name K, present string) string {
	if (*set)[name] {
		return present
	}
	if *set == nil {
		*set = map[K]bool{}
	}
	(*set)[name] = true
	return ""
}

func (k *Check) timer(e Event) string {
	switch p := e.Body.(type) {
	case *TimerSet:
		return add(&k.timers, p.Timer, "the timer runs already")
	case *TimerFired:
		return k.dropTimer(p.Timer)
	case *TimerStopped:
		return k.dropTimer(p.Timer)
	}
	return ""
}

func (k *Check) dropTimer(id string) string {
	if !k.timers[id] {
		return "the timer does not run"
	}
	delete(k.timers, id)
	return ""
}

func (k *Check) stage(p *ApprovalStaged) string {
	return add(&k.proposals, p.Proposal, "the proposal is staged already")
}

func (k *Check) decide(p *ApprovalDecided) string {
	if !k.proposals[p.Proposal] {
		return "the approval is not open"
	}
	if p.Quorum != QuorumPending {
		delete(k.proposals, p.Proposal)
	}
	return ""
}

func (k *Check) migrate(e Event) string {
	for _, v := range k.nodes {
		for _, p := range v.effects {
			if v.phase != visitOver && p == effectAuthorized {
				return "an effect is under way"
			}
		}
	}
	return noNode(e)
}

// effect moves one effect along its life.
func (v *visit) effect(p Payload) string {
	switch p := p.(type) {
	case *EffectRequested:
		if v.effects[p.Key] != 0 {
			return "the effect was requested before"
		}
		if v.effects == nil {
			v.effects = map[string]effectPhase{}
		}
		v.effects[p.Key] = effectRequested
		return ""
	case *EffectAuthorized:
		return v.move(p.Key, effectAuthorized, effectRequested, effectUnknown)
	case *EffectDenied:
		return v.move(p.Key, effectOver, effectRequested, effectUnknown)
	case *EffectSettled:
		return v.move(p.Key, effectOver, effectAuthorized, effectUnknown)
	case *EffectFailed:
		return v.move(p.Key, effectOver, effectAuthorized, effectUnknown)
	case *EffectUnknown:
		return v.move(p.Key, effectUnknown, effectAuthorized)
	}
	return "unknown payload"
}

func (v *visit) move(key string, to effectPhase, from ...effectPhase) string {
	for _, f := range from {
		if v.effects[key] == f {
			v.effects[key] = to
			return ""
		}
	}
	switch v.effects[key] {
	case 0:
		return "the effect was not requested"
	case effectRequested:
		return "the effect was not authorized"
	case effectAuthorized:
		return "the effect is under way"
	case effectUnknown:
		return "the outcome is unknown already"
	}
	return "the effect has an outcome"
}

func (v *visit) receive(p *EventReceived) string {
	if !v.waits[p.Wait] {
		return "the visit does not wait for it"
	}
	delete(v.waits, p.Wait)
	return ""
}

func (v *visit) callReturned(p *CallReturned) string {
	if !v.calls[p.Exec] {
		return "the visit has no such call"
	}
	v.calls[p.Exec] = false
	return ""
}

// unresolved names an effect or a call of the visit that has no outcome.
func (v *visit) unresolved() string {
	for _, p := range v.effects {
		if p != effectOver {
			return "an effect of the visit has no outcome"
		}
	}
	for _, open := range v.calls {
		if open {
			return "a call of the visit has not returned"
		}
	}
	return ""
}

// close ends the visit. Only its branches outlive it.
func (v *visit) close() string {
	problem := v.unresolved()
	*v = visit{number: v.number, attempt: v.attempt, branches: v.branches}
	return problem
}

// end checks the last event of a run.
func (k *Check) end(e Event) string {
	k.ended = true
	var end *End
	switch p := e.Body.(type) {
	case *Terminated:
		end = &p.End
		v := k.nodes[e.Node]
		if v == nil || v.number != e.Visit || v.attempt != e.Attempt || v.phase != attemptOpen {
			return "the attempt is not open"
		}
		if problem := v.unresolved(); problem != "" {
			return problem
		}
	case *Failed:
		end = &p.End
	case *Cancelled:
		end = &p.End
		if !k.cancel {
			return "no cancel was requested"
		}
	case *Abandoned:
		end = &p.End
		if e.Node != "" {
			return noNode(e)
		}
	}
	switch {
	case end.Events != e.Seq:
		return fmt.Sprintf("counts %d events", end.Events)
	case end.State != k.state || end.Revision != k.revision:
		return "the final state is not the one that the patches lead to"
	}
	return ""
}
