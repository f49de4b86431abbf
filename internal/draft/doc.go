// Package draft makes manifests and mends them: what a publisher needs before
// and beside planning.
//
// [Scan] drafts a manifest from a folder, [FromLLMsTxt] from an llms.txt, and
// [Discover] looks for what a site already publishes. [Draft.Text] writes a draft
// down, with a TODO wherever nothing may be claimed. [Fix] mends what is
// mechanical in a manifest's text and proves that nothing else has changed.
// [Cover] plans a list of expected questions and says which find nothing.
//
// The package opens no file and dials nothing: folders come as [io/fs.FS], the
// web as a [Fetcher].
package draft
