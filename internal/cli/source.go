package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/writ-dev/writ/fetch"
	"github.com/writ-dev/writ/load"
)

// sourceFlags say which manifest a command works on and how it is read.
type sourceFlags struct {
	manifest, root, maxBytes, trustKey               given
	noCache, noVerify, requireSignature, remoteCache bool
	local                                            bool // reads nothing over the network
	allowPrivate                                     bool
}

func (f *sourceFlags) declare(cmd *cobra.Command) {
	reading := flagGroup{cmd.Flags(), "Manifest"}
	reading.value(&f.manifest, "manifest", "LOCATION", "docs/knowledge.yaml", "file, folder with a knowledge.yaml, or https URL (default: the current folder, if it has one)")
	reading.value(&f.root, "root", "DIR", "knowledge", "read what manifests and artifacts name only below this folder")
	reading.value(&f.maxBytes, "max-manifest-bytes", "N", "134217728", "refuse a manifest that is larger (default 64 MiB)")
	reading.boolean(&f.noCache, "no-cache", "do not use or write the cache of parsed manifests")
	reading.boolean(&f.remoteCache, "remote-cache", "keep what is read over the network, and ask only whether it has changed")
}

// declareTrust declares the flags of commands that verify signatures.
func (f *sourceFlags) declareTrust(cmd *cobra.Command) {
	trust := flagGroup{cmd.Flags(), "Signature"}
	trust.boolean(&f.requireSignature, "require-signature", "fail unless a trusted or declared key signed the manifest")
	trust.value(&f.trustKey, "trust-key", "KEY", "keys/publisher.pub", "the ed25519 public key to trust: a file, or the key itself")
	trust.boolean(&f.noVerify, "no-verify", "do not check the signature")
}

// location gives what was named, by flag or as a word, or the manifest of the
// current folder.
func (f *sourceFlags) location(word string) (string, error) {
	switch {
	case f.manifest.text != "":
		return f.manifest.text, nil
	case word != "":
		return word, nil
	}
	for _, file := range []string{"knowledge.yaml", filepath.Join(".well-known", "knowledge.yaml")} {
		if _, err := os.Stat(file); err == nil {
			return ".", nil
		}
	}
	return "", usagef("Name one with --manifest docs/knowledge.yaml, or go to a folder that has a knowledge.yaml.",
		"there is no manifest to work on")
}

// open reads, verifies and parses the manifest at a location; empty means the
// one that the flags name.
func (f *sourceFlags) open(ctx context.Context, r *runner, location string) (*load.Loaded, error) {
	o, err := f.reading(r)
	if err != nil {
		return nil, err
	}
	if location == "" {
		if location, err = f.location(""); err != nil {
			return nil, err
		}
	}
	return load.Manifest(ctx, location, o)
}

// reading says how manifests are read and verified.
func (f *sourceFlags) reading(r *runner) (load.Options, error) {
	var o load.Options
	if f.noVerify && (f.requireSignature || f.trustKey.set) {
		return o, usagef("Leave out --no-verify.", "--no-verify contradicts --require-signature and --trust-key")
	}
	limit, err := f.maxBytes.count("max-manifest-bytes")
	if err != nil {
		return o, err
	}
	if f.maxBytes.set && limit.Value < 1 {
		return o, badValue("max-manifest-bytes", f.maxBytes.text, "is not a positive number", f.maxBytes.example)
	}
	var cache *load.Cache
	if !f.noCache {
		cache = load.OpenCache(load.CacheDirs{})
	}
	pins, err := r.pins()
	if err != nil {
		return o, err
	}
	remote := fetch.Options{AllowPrivateHosts: f.allowPrivate}
	if f.remoteCache {
		remote.Cache = fetch.OpenCache("")
	}
	o = load.Options{
		Pins:             pins,
		MaxBytes:         int(limit.Value),
		NoVerify:         f.noVerify,
		RequireSignature: f.requireSignature,
		TrustKey:         f.trustKey.text,
		Root:             f.root.text,
		Cache:            cache,
	}
	if !f.local {
		o.Fetch = fetch.New(remote)
	}
	return o, nil
}
