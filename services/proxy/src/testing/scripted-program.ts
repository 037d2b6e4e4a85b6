import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

/**
 * Replaces a program of the host by a shell script until the test has finished. No other program is found meanwhile. Returns the script's
 * folder, which the script finds in `$FOLDER`.
 */
export function scriptProgram(name: string, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-program-'));
  writeFileSync(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\nFOLDER='${folder}'\n${script}`, { mode: 0o755 });
  vi.stubEnv('PATH', folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });
  return folder;
}
