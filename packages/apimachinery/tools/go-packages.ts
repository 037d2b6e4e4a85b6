import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** The `go` command on PATH. Needed only to raise the Kubernetes level. */
const GO = 'go';

function download(module: string, version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'go-facts-'));
  try {
    writeFileSync(join(folder, 'go.mod'), 'module facts\ngo 1.24\n');
    const answer = execFileSync(GO, ['mod', 'download', '-json', `${module}@${version}`], { cwd: folder });
    return (JSON.parse(answer.toString()) as { Dir: string }).Dir;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Folders of the Go packages of a version of k8s.io/api, by the prefix that their schemas have. */
export function goPackages(version: string): Map<string, string> {
  const out = new Map<string, string>();
  const api = download('k8s.io/api', version);
  for (const entry of readdirSync(api, { recursive: true, withFileTypes: true })) {
    if (!entry.isDirectory() || !/^v\d+$/.test(entry.name)) continue;
    out.set(`${basename(entry.parentPath)}.${entry.name}.`, join(entry.parentPath, entry.name));
  }
  const machinery = download('k8s.io/apimachinery', version);
  out.set('meta.v1.', join(machinery, 'pkg/apis/meta/v1'));
  out.set('version.', join(machinery, 'pkg/version'));
  out.set('apiextensions.v1.', join(download('k8s.io/apiextensions-apiserver', version), 'pkg/apis/apiextensions/v1'));
  out.set('apiregistration.v1.', join(download('k8s.io/kube-aggregator', version), 'pkg/apis/apiregistration/v1'));
  return out;
}
