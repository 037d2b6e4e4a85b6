import http from 'node:http';
import { defineConfig } from 'tsdown';

/** Libraries of the API server that the test kit needs. They are bundled, so that users do not install them for the package itself. */
const BUNDLED = /^(re2js|@bufbuild\/protobuf)(\/|$)/;
/** What users install: the dependencies of package.json. */
const INSTALLED = /^(@kubernetes\/client-node|@peculiar\/x509|pino|prom-client|reflect-metadata|zod)$/;
const OURS = /^(@gantry\/|node:|[./\0]|src\/)/;

/** Members of `node:http` that are there without loading anything. */
const HTTP = Object.entries(Object.getOwnPropertyDescriptors(http)).flatMap(([name, { get }]) =>
  get === undefined && name !== 'default' ? [name] : [],
);

// What users install: the workspaces that the package is made of are bundled into it, with their types.
export default defineConfig({
  entry: { index: 'src/index.ts', testing: 'src/testing/index.ts', cli: 'src/cli.ts' },
  outDir: 'bundle',
  format: 'esm',
  target: 'node22',
  dts: true,
  report: false,
  logLevel: 'warn',
  deps: { alwaysBundle: [/^@gantry\//, BUNDLED], onlyBundle: [/^@gantry\//, BUNDLED] },
  plugins: [
    {
      // An ES module that imports `node:http` reads all its members, and Node.js loads undici for `WebSocket`: 26 ms of CPU and 9 MiB.
      name: 'http-without-undici',
      resolveId: {
        order: 'pre',
        handler: (id, importer) => (id === 'node:http' && importer?.endsWith('.d.ts') === false ? '\0http' : undefined),
      },
      load: (id) =>
        id === '\0http' ? `export const { ${HTTP.join(', ')} } = process.getBuiltinModule('node:http');` : undefined,
    },
    {
      // Nothing that the package exports uses the others, but without this their imports would stay.
      name: 'without-the-rest',
      resolveId: {
        order: 'pre',
        handler: (id) =>
          OURS.test(id) || INSTALLED.test(id) || BUNDLED.test(id)
            ? undefined
            : { id, external: true, moduleSideEffects: false },
      },
    },
  ],
  inputOptions: { resolve: { conditionNames: ['gantry-source', 'import', 'default'] } },
});
