import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { framesToSvg, RecordingScreen } from './live-picture.ts';

const drawn = (fault: number, more = '') =>
  `\x1b[Hchaos  1.0 s   fault ${fault} of 2, round 1\x1b[K\r\n${more}\x1b[K\x1b[J`;

test('the frames around the first fault are kept, and all else is written on', async () => {
  const clock = new ManualClock();
  let written = '';
  const screen = new RecordingScreen(clock, (text) => (written += text));
  for (let turn = 0; turn < 100; turn++) {
    screen.write(drawn(turn < 20 ? 0 : 1, `turn ${turn}`));
    await clock.advance(500);
  }
  screen.write('\x1b[?25hno violation\n');
  expect(written).toBe('no violation\n');
  expect(screen.frames.map(({ lines }) => lines[1])).toEqual(
    Array.from({ length: 56 }, (_, index) => `turn ${14 + index}`),
  );
});

test('a picture has each line of each frame, and shows the last frame where nothing moves', () => {
  const frames = [
    { atMs: 1_000, lines: ['a <b> & c', ''] },
    { atMs: 1_500, lines: ['the last'] },
  ];
  const svg = framesToSvg(frames, { columns: 20, rows: 2 });
  expect(svg.match(/<text[^>]*>[^<]*<\/text>/g)?.map((text) => text.replaceAll(/<[^>]*>/g, ''))).toEqual([
    'a&#160;&lt;b>&#160;&amp;&#160;c',
    'the&#160;last',
  ]);
  expect(svg.match(/<g visibility="\w+"/g)).toEqual(['<g visibility="hidden"', '<g visibility="visible"']);
  // The first frame from 0 to 0.5 of 4.5 s, the last one from there to the end.
  expect(svg.match(/keyTimes="[^"]*"/g)).toEqual(['keyTimes="0;0.00000;0.11111"', 'keyTimes="0;0.11111;1.00000"']);
});
