import { defineConfig } from 'tsdown';

// What users install: the workspaces that the package is made of are bundled into it, with their types.
export default defineConfig({
  entry: ['src/index.ts'],
  outDir: 'bundle',
  format: 'esm',
  target: 'node22',
  dts: true,
  sourcemap: true,
  report: false,
  logLevel: 'warn',
  deps: { alwaysBundle: [/^@gantry\//], onlyBundle: [/^@gantry\//] },
  plugins: [
    {
      // Nothing that the package exports uses it, but without this its import would stay in the types.
      name: 'without-grpc',
      resolveId: {
        order: 'pre',
        handler: (id) => (id.startsWith('@grpc/') ? { id, external: true, moduleSideEffects: false } : undefined),
      },
    },
  ],
  inputOptions: { resolve: { conditionNames: ['gantry-source', 'import', 'types', 'default'] } },
});
