import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'

const folder = 'test/fixtures/snapshots'
/** A new picture replaces the stored one instead of being compared with it. */
const updates = process.env.TEST_SNAPSHOTS === 'update'

/** A channel of a pixel may differ by this much, because edges of letters are smoothed differently. */
const maxChannelDifference = 40
/** The share of the pixels that may differ by more. A column of a table that is a pixel wider, as rounding can make it, changes 0.001. */
const maxDifferentShare = 0.0015

interface Difference {
  /** From 0 to 1; 1 if the sizes differ. */
  readonly share: number
}

const compare = `async (one, other) => {
  const pixelsOf = async (base64) => {
    const image = new Image()
    image.src = 'data:image/png;base64,' + base64
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext('2d')
    context.drawImage(image, 0, 0)
    return context.getImageData(0, 0, image.width, image.height)
  }
  const [a, b] = [await pixelsOf(one), await pixelsOf(other)]
  if (a.width !== b.width || a.height !== b.height) return { share: 1 }
  let different = 0
  for (let at = 0; at < a.data.length; at += 4) {
    const difference = Math.max(...[0, 1, 2].map((channel) => Math.abs(a.data[at + channel] - b.data[at + channel])))
    if (difference > ${maxChannelDifference}) different += 1
  }
  return { share: different / (a.data.length / 4) }
}`

/** Text in two weights, a rounded corner and a shadow. If this browser draws them differently, it draws every page differently. */
const sample = (font: string) => `<style>
  @font-face { font-family: Sample; src: url(data:font/woff2;base64,${font}); font-weight: 100 900 }
  body { margin: 24px; font: 14px/1.5 Sample; color: #1c2130; background: #fff }
  p { width: 260px; padding: 12px; border: 1px solid #d6dae4; border-radius: 10px; box-shadow: 0 2px 8px #0003 }
  b { font-weight: 640 }
</style><p>Withdrawals 1,234.50 ↑ ↓<br><b>Waiting for approval</b><br><small>0123456789 ✓</small></p>`

/** Compares pictures of pages with the stored ones, in a separate page of the browser. */
export class Snapshots {
  readonly #browser: Browser
  readonly #page: Page

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser
    this.#page = page
  }

  static async open(browser: Browser): Promise<Snapshots> {
    return new Snapshots(browser, await browser.newPage())
  }

  /** Returns why pictures cannot be compared here, or `undefined` if they can. */
  async reasonNotToCompare(): Promise<string | undefined> {
    const font = readFileSync('node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2', 'base64')
    const page = await this.#browser.newPage({ viewport: { width: 360, height: 180 } })
    await page.setContent(sample(font))
    await page.evaluate('document.fonts.load("14px Sample")')
    const picture = await page.screenshot()
    await page.close()
    if ((await this.differenceFrom('renderer', picture)).share <= maxDifferentShare) return undefined
    return `this browser (${this.#browser.version()}) draws ${folder}/renderer.png differently, so all pages would differ`
  }

  /** Returns why a picture is not the stored one, or `undefined` if it is. The picture is then in a temporary folder. */
  async fault(name: string, picture: Buffer): Promise<string | undefined> {
    const { share } = await this.differenceFrom(name, picture)
    if (share <= maxDifferentShare) return undefined
    const actual = join(tmpdir(), 'transferd-snapshots')
    mkdirSync(actual, { recursive: true })
    writeFileSync(join(actual, `${name}.png`), picture)
    return `${(share * 100).toFixed(2)} % of the pixels of ${name} differ: compare ${folder}/${name}.png with ${actual}/${name}.png`
  }

  async differenceFrom(name: string, picture: Buffer): Promise<Difference> {
    const file = `${folder}/${name}.png`
    if (updates) {
      mkdirSync(folder, { recursive: true })
      writeFileSync(file, picture)
    }
    if (!existsSync(file)) return { share: 1 }
    const parts = [readFileSync(file, 'base64'), picture.toString('base64')]
    return this.#page.evaluate(`(${compare})(${JSON.stringify(parts[0])}, ${JSON.stringify(parts[1])})`)
  }
}
