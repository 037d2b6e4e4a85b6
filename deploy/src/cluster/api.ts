import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createHttpClient, type HttpClient, readKubeconfig } from '@gantry/client';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';

/** A short timeout, so that polling a starting cluster does not block. */
const REQUEST_MS = 5_000;

export const kubeconfigOf = (config: CommandConfig) => join(config.home, 'kubeconfig');

/** Opens the API of `config`'s cluster as the user of a kubeconfig; its administrator by default. */
export function openApi(config: CommandConfig, file = kubeconfigOf(config)): HttpClient {
  if (!existsSync(file)) throw new CommandError(`there is no kubeconfig at ${file}`, 'start the cluster: npm run up');
  return createHttpClient({
    ...readKubeconfig(file),
    fieldManager: 'kubectl-client-side-apply',
    deadlineMs: REQUEST_MS,
  });
}

/** The administrator's certificate (PEM) from the kubeconfig, if it exists. */
export function adminCertificate(config: CommandConfig): string | undefined {
  const file = kubeconfigOf(config);
  return existsSync(file) ? readKubeconfig(file).cert?.toString('utf8') : undefined;
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

interface Table {
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

/** What `kubectl get -o wide` prints for a path. */
export async function printTable(api: HttpClient, path: string, signal: AbortSignal): Promise<string> {
  const table = JSON.parse(await api.raw({ method: 'GET', path, accept: TABLE }, signal)) as Table;
  const columns = table.columnDefinitions.map((column) => column.name.toUpperCase());
  const lines = [columns, ...table.rows.map((row) => row.cells.map((cell) => String(cell ?? '<none>')))];
  return formatColumns(lines);
}

/** Formats rows as columns three spaces apart, as kubectl does. */
export function formatColumns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
