import { atOnce } from '@gantry/base';
import { describe, expect, it } from 'vitest';
import { PageRewriter } from './rewrite-html.ts';

const PLACE = { prefix: '/proxy', backend: '10.0.0.1:80', asked: 'api:6443' };

/** The page rewritten, with the bytes arriving in parts of this size. */
function rewritten(page: string | Buffer, partBytes = Number.POSITIVE_INFINITY): string {
  const rewriter = new PageRewriter(PLACE);
  const bytes = Buffer.from(page);
  const out: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += partBytes) {
    out.push(atOnce(() => rewriter.rewrite(bytes.subarray(at, at + partBytes))));
  }
  return Buffer.concat([...out, rewriter.end()]).toString();
}

const CASES: readonly (readonly [string, string, string])[] = [
  ['a link', '<a href="/x">', '<a href="/proxy/x">'],
  ['a link in single quotes', "<A HREF = '/x'>", '<A HREF = "/proxy/x">'],
  ['a link without quotes', '<a href=/x/ id=1>', '<a href="/proxy/x/" id=1>'],
  ['an empty link', '<a href=>', '<a href="">'],
  ['several links', '<img src=/a alt="/b" longdesc="/c"/>', '<img src="/proxy/a" alt="/b" longdesc="/proxy/c"/>'],
  ['escapes', '<a href="/x?a&amp;b">', '<a href="/proxy/x?a&amp;b">'],
  ['a link elsewhere', '<a href="http://other/x">', '<a href="http://other/x">'],
  ['a link to the backend', '<a href="http://10.0.0.1:80/x">', '<a href="/proxy/x">'],
  ['characters of several bytes', '<a href=/à>à</a>', '<a href="/proxy/à">à</a>'],
  ['an attribute of another element', '<p href="/x">', '<p href="/x">'],
  ['an element whose name begins as another', '<a-b href="/x">', '<a-b href="/x">'],
  ['an attribute without a value', '<a download href="/x">', '<a download href="/proxy/x">'],
  ['a comment', '<!-- <a href="/x"> - -- --><a href="/y">', '<!-- <a href="/x"> - -- --><a href="/proxy/y">'],
  ['a declaration', '<!-a><!DOCTYPE html><a href="/x">', '<!-a><!DOCTYPE html><a href="/proxy/x">'],
  ['what is no element', '< a href="/x"><1 href="/x">', '< a href="/x"><1 href="/x">'],
  ['comments that are empty', '<!--><a href=/x><!---><a href=/y>', '<!--><a href="/proxy/x"><!---><a href="/proxy/y">'],
  ['other declarations', '<![CDATA[<a href=/x>]]><?a <b href=/x>', '<![CDATA[<a href=/x>]]><?a <b href=/x>'],
  ['signs before a name', `<a =href="/x" "href='/x' 'href=/x>`, `<a =href="/x" "href='/x' 'href=/x>`],
  ['signs out of place', '<a "=/ href="/x">', '<a "=/ href="/proxy/x">'],
  [
    'a script',
    `<script src=/x>a = '<a href="/y">' < "</scripts>" + '</a</script><a href=/z>`,
    `<script src="/proxy/x">a = '<a href="/y">' < "</scripts>" + '</a</script><a href="/proxy/z">`,
  ],
  ['a style', '<STYLE>a<b src=/x></Style ><img src=/y>', '<STYLE>a<b src=/x></Style ><img src="/proxy/y">'],
  ['a text field', '<textarea><a href=/x></textarea/><p>', '<textarea><a href=/x></textarea/><p>'],
  [
    'plain text',
    '<a href=/x><plaintext></plaintext><a href=/y>',
    '<a href="/proxy/x"><plaintext></plaintext><a href=/y>',
  ],
  ['a page that ends in a link', '<a href="/x', '<a href="/x'],
  ['a page that ends in a comment', '<!-- <a href="/x">', '<!-- <a href="/x">'],
];

describe('a page', () => {
  it.each(CASES)('with %s', (_, page, expected) => {
    expect(rewritten(page)).toBe(expected);
  });

  it('is the same however its bytes arrive', () => {
    const page = CASES.filter(([about, text]) => text.endsWith('>') && about !== 'plain text')
      .map(([, text]) => text)
      .join('\n');
    const whole = rewritten(page);
    for (let size = 1; size < 40; size++) expect(rewritten(page, size)).toBe(whole);
  });

  it('keeps bytes that are no UTF-8', () => {
    const bytes = Buffer.from([0x3c, 0x70, 0x3e, 0xe0, 0xff]);
    expect(atOnce(() => new PageRewriter(PLACE).rewrite(bytes))).toEqual(bytes);
  });

  it('keeps a link that is too long', () => {
    const page = `<img src="/${'x'.repeat(80_000)}"><a href="/y">`;
    expect(rewritten(page, 1000)).toBe(page.replace('/y', '/proxy/y'));
  });

  it.each([
    ['links', '<a href=/x>'],
    ['an open tag', '<a href=/x '],
    ['an open link', '<a href="/'],
    ['openings', '<'],
    ['an open comment', '<!-- -'],
    ['an open script', '<script></'],
  ])('that is malicious is read in short pieces: %s', (_, text) => {
    const page = Buffer.from(text.repeat(Math.ceil((128 * 1024) / text.length)));
    const pieces = new PageRewriter(PLACE).rewrite(page);
    let turns = 1;
    while (pieces.next().done !== true) turns++;
    expect(turns).toBeGreaterThanOrEqual(page.length / 4096);
  });
});
