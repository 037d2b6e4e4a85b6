// Cycles between files, those of types alone included. Layers between workspaces: deploy/tools/layers.ts.
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'not-to-test',
      severity: 'error',
      from: { pathNot: '\\.test\\.ts$|/testing/|^integration-tests|^bench' },
      to: { path: '\\.test\\.ts$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/|/dist-tools/|node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: { conditionNames: ['gantry-source', 'import', 'require', 'default', 'types'] },
  },
};
