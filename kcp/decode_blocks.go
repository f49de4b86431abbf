package kcp

// Blocks that units and the root share.

// payment reads a payment block (specification 4.14). It is kept when
// malformed, so that its gate can close.
func (d *decoder) payment(i int32) *Payment {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &Payment{Malformed: true}
	}
	p := &Payment{}
	for key, v := range d.fields(i) {
		switch key {
		case "default_tier":
			p.DefaultTier = d.str(v)
		case "methods":
			d.paymentMethods(p, v)
		case "billing_contact":
			p.BillingContact = d.str(v)
		}
	}
	return p
}

// paymentMethods reads the methods. An entry that is not a mapping stays, as a
// method without a type: positions in the list carry preference.
func (d *decoder) paymentMethods(p *Payment, i int32) {
	if d.isNull(i) {
		return
	}
	if !d.isList(i) {
		p.Malformed = true
		return
	}
	p.MethodsDeclared = d.charge(i)
	for _, item := range d.elements(i) {
		if d.at(item).kind != kindMap {
			p.Malformed = true
			d.dropped(item)
		}
		p.Methods = append(p.Methods, d.paymentMethod(item))
	}
}

func (d *decoder) paymentMethod(item int32) (m PaymentMethod) {
	for key, v := range d.fields(item) {
		switch key {
		case "type":
			m.Type = d.required(v, "")
		case "currency":
			m.Currency = d.str(v)
		case "price_per_request":
			m.PricePerRequest = d.str(v)
		case "networks":
			m.Networks = d.grants(v)
		case "wallet":
			m.Wallet = d.str(v)
		case "provider":
			m.Provider = d.str(v)
		case "plans_url":
			m.PlansURL = d.str(v)
		case "free_tier":
			m.FreeTier = d.boolean(v)
		case "free_requests_per_day":
			m.FreeRequestsPerDay = d.number(v)
		case "upgrade_url":
			m.UpgradeURL = d.str(v)
		}
	}
	return m
}

// rateLimits reads a rate_limits block (specification 4.15).
func (d *decoder) rateLimits(i int32) *RateLimits {
	if d.block(i) != blockMap {
		return nil
	}
	r := &RateLimits{}
	for key, v := range d.fields(i) {
		switch key {
		case "default":
			r.Default = d.rateTier(v)
		case "authenticated":
			r.Authenticated = d.rateTier(v)
		case "premium":
			r.Premium = d.rateTier(v)
		case "backoff":
			r.Backoff = d.str(v)
		case "tokens":
			r.Tokens = d.tokenLimits(v)
		case "headers":
			r.Headers = d.rateHeaders(v)
		}
	}
	return r
}

func (d *decoder) rateTier(i int32) *RateTier {
	if d.block(i) != blockMap {
		return nil
	}
	t := &RateTier{}
	for key, v := range d.fields(i) {
		switch key {
		case "requests_per_minute":
			t.PerMinute = d.count(v)
		case "requests_per_hour":
			t.PerHour = d.count(v)
		case "requests_per_day":
			t.PerDay = d.count(v)
		}
	}
	return t
}

func (d *decoder) tokenLimits(i int32) *TokenLimits {
	if d.block(i) != blockMap {
		return nil
	}
	t := &TokenLimits{}
	for key, v := range d.fields(i) {
		switch key {
		case "default":
			t.Default = d.tokenTier(v)
		case "authenticated":
			t.Authenticated = d.tokenTier(v)
		case "premium":
			t.Premium = d.tokenTier(v)
		}
	}
	return t
}

func (d *decoder) tokenTier(i int32) *TokenTier {
	if d.block(i) != blockMap {
		return nil
	}
	t := &TokenTier{}
	for key, v := range d.fields(i) {
		switch key {
		case "tokens_per_minute":
			t.PerMinute = d.count(v)
		case "tokens_per_day":
			t.PerDay = d.count(v)
		}
	}
	return t
}

func (d *decoder) rateHeaders(i int32) *RateHeaders {
	if d.block(i) != blockMap {
		return nil
	}
	h := &RateHeaders{}
	for key, v := range d.fields(i) {
		switch key {
		case "remaining":
			h.Remaining = d.str(v)
		case "reset":
			h.Reset = d.str(v)
		case "retry_after":
			h.RetryAfter = d.str(v)
		}
	}
	return h
}

// license reads an identifier or a mapping.
func (d *decoder) license(i int32) *License {
	if n := d.at(i); n.kind == kindScalar {
		if d.isNull(i) {
			return nil
		}
		return &License{SPDX: d.str(i)}
	}
	if d.block(i) != blockMap {
		return nil
	}
	l := &License{}
	for key, v := range d.fields(i) {
		switch key {
		case "spdx":
			l.SPDX = d.str(v)
		case "url":
			l.URL = d.str(v)
		case "attribution_required":
			l.AttributionRequired = d.boolean(v)
		}
	}
	return l
}

// indexing reads a shorthand word or a mapping (specification 4.7).
func (d *decoder) indexing(i int32) *Indexing {
	if n := d.at(i); n.kind == kindScalar {
		if d.isNull(i) {
			return nil
		}
		return &Indexing{Shorthand: d.str(i)}
	}
	if d.block(i) != blockMap {
		return nil
	}
	x := &Indexing{}
	for key, v := range d.fields(i) {
		switch key {
		case "allow":
			x.Allow = d.grants(v)
		case "deny":
			x.Deny = d.restricts(v)
		case "attribution_required":
			x.AttributionRequired = d.boolean(v)
		}
	}
	return x
}

// hints reads a unit's loading hints (specification 4.10).
func (d *decoder) hints(i int32) *Hints {
	if d.block(i) != blockMap {
		return nil
	}
	h := &Hints{}
	for key, v := range d.fields(i) {
		switch key {
		case "token_estimate":
			h.TokenEstimate = d.size(v)
		case "token_estimate_method":
			h.TokenEstimateMethod = d.str(v)
		case "size_bytes":
			h.SizeBytes = d.size(v)
		case "load_strategy":
			h.LoadStrategy = d.str(v)
		case "priority":
			h.Priority = d.str(v)
		case "density":
			h.Density = d.str(v)
		case "summary_available":
			h.SummaryAvailable = d.boolean(v)
		case "summary_unit":
			h.SummaryUnit = d.str(v)
		case "summary_of":
			h.SummaryOf = d.str(v)
		case "partial_load_supported":
			h.PartialLoadSupported = d.boolean(v)
		default:
			d.chunkHint(h, key, v)
		}
	}
	return h
}

func (d *decoder) chunkHint(h *Hints, key string, v int32) {
	switch key {
	case "chunked":
		h.Chunked = d.boolean(v)
	case "chunk_count":
		h.ChunkCount = d.size(v)
	case "chunk_of":
		h.ChunkOf = d.str(v)
	case "chunk_index":
		h.ChunkIndex = d.size(v)
	case "total_chunks":
		h.TotalChunks = d.size(v)
	case "chunk_topic":
		h.ChunkTopic = d.str(v)
	}
}

// contentHash reads a digest. One that is not a mapping is kept, so that the
// validator can report it.
func (d *decoder) contentHash(i int32) *ContentHash {
	switch d.block(i) {
	case blockAbsent:
		return nil
	case blockMalformed:
		return &ContentHash{Malformed: true}
	}
	h := &ContentHash{}
	for key, v := range d.fields(i) {
		switch key {
		case "algorithm":
			h.Algorithm = d.str(v)
		case "value":
			h.Value = d.str(v)
		}
	}
	return h
}

func (d *decoder) contentStructure(i int32) *ContentStructure {
	if d.block(i) != blockMap {
		return nil
	}
	c := &ContentStructure{}
	for key, v := range d.fields(i) {
		switch key {
		case "primary":
			c.Primary = d.str(v)
		case "contains":
			c.Contains = d.either(v)
		case "density":
			c.Density = d.str(v)
		}
	}
	return c
}

func (d *decoder) externalDependsOn(i int32) (list []ExternalDependency) {
	for index, item := range d.mappings(i) {
		e := ExternalDependency{Index: index}
		for key, v := range d.fields(item) {
			switch key {
			case "manifest":
				e.Manifest = d.str(v)
			case "unit":
				e.Unit = d.str(v)
			case "on_failure":
				e.OnFailure = d.str(v)
			}
		}
		list = append(list, e)
	}
	return list
}

// freshness reads a freshness_policy block (specification 4.13).
func (d *decoder) freshness(i int32) *Freshness {
	if d.block(i) != blockMap {
		return nil
	}
	f := &Freshness{}
	for key, v := range d.fields(i) {
		switch key {
		case "max_age_days":
			f.MaxAgeDays = d.number(v)
		case "on_stale":
			f.OnStale = d.str(v)
		case "review_contact":
			f.ReviewContact = d.str(v)
		}
	}
	return f
}

// discovery says how a claim came to be known (specification 4.18).
func (d *decoder) discovery(i int32) *Discovery {
	if d.block(i) != blockMap {
		return nil
	}
	x := &Discovery{}
	for key, v := range d.fields(i) {
		switch key {
		case "verification_status":
			x.VerificationStatus = d.str(v)
		case "source":
			x.Source = d.str(v)
		case "observed_at":
			x.ObservedAt = d.str(v)
		case "verified_at":
			x.VerifiedAt = d.str(v)
		case "confidence":
			x.Confidence = d.number(v)
		case "contradicted_by":
			x.ContradictedBy = d.str(v)
			x.Malformed = !d.isText(v)
		case "verified_by":
			x.VerifiedBy = d.str(v)
		case "evidence":
			x.Evidence = d.str(v)
		}
	}
	return x
}

// isText reports whether a value is text or null.
func (d *decoder) isText(i int32) bool {
	n := d.at(i)
	if n.kind != kindScalar {
		return false
	}
	kind := typeString
	if n.plain {
		kind, _ = scalarTypeOf(n.text)
	}
	return kind == typeString || kind == typeNull
}
