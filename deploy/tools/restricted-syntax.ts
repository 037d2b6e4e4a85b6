/** A plugin for oxlint, which has no rule of this kind: `restricted/syntax` forbids what matches a selector. */
export default {
  meta: { name: 'restricted' },
  rules: {
    syntax: {
      meta: { schema: false },
      create(context: {
        options: readonly { selector: string; message: string }[];
        report(problem: { node: unknown; message: string }): void;
      }) {
        const visitors = context.options.map(({ selector, message }) => [
          selector,
          (node: unknown) => context.report({ node, message }),
        ]);
        return Object.fromEntries(visitors);
      },
    },
  },
};
