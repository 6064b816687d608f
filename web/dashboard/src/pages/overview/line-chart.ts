import UPlot from 'uplot'

/** Lines differ in their dashes, too: the legend shows both. */
export interface Line {
  readonly id: string
  /** A custom property of the theme, such as `--good`. */
  readonly color: string
  readonly dash: readonly number[]
  readonly values: readonly number[]
}

export interface Axes {
  /** Tells the language, and how numbers and times are written in it. */
  formatValue(value: number): string
  formatTime(timeMs: number, isDay: boolean): string
  /** Of a bucket. */
  formatStart(timeMs: number): string
  /** Days are counted in UTC. */
  readonly inUtc: boolean
}

const dayS = 86_400
/** Whole numbers, as there is no half transfer. */
const steps = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/** uPlot with the theme's colours. The x-axis is time in seconds, the y-axis begins at 0. */
export class LineChart {
  readonly #plot: UPlot
  readonly #room: HTMLElement
  readonly #resized: ResizeObserver
  readonly #themed: MutationObserver
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')

  constructor(room: HTMLElement, lines: readonly Line[], axes: Axes, onPoint: (index: number | null) => void) {
    this.#room = room
    this.#plot = new UPlot(optionsOf(room, lines, axes, onPoint), [[], ...lines.map(() => [])], room)
    this.#resized = new ResizeObserver(() => this.#plot.setSize({ width: room.clientWidth, height: room.clientHeight }))
    this.#resized.observe(room)
    this.#themed = new MutationObserver(this.#redraw)
    this.#themed.observe(document.documentElement, { attributes: true })
    this.#scheme.addEventListener('change', this.#redraw)
  }

  show(timesMs: readonly number[], lines: readonly Line[]): void {
    this.#plot.setData([timesMs.map((timeMs) => timeMs / 1000), ...lines.map(({ values }) => [...values])])
  }

  destroy(): void {
    this.#resized.disconnect()
    this.#themed.disconnect()
    this.#scheme.removeEventListener('change', this.#redraw)
    this.#plot.destroy()
    this.#room.replaceChildren()
  }

  readonly #redraw = () => this.#plot.redraw(false)
}

function optionsOf(
  room: HTMLElement,
  lines: readonly Line[],
  axes: Axes,
  onPoint: (index: number | null) => void,
): UPlot.Options {
  const color = (property: string) => () => colorOf(room, property)
  const common = { stroke: color('--soft'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: room.clientWidth,
    height: room.clientHeight,
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false, x: false, y: false } },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    tzDate: (timeS) => (axes.inUtc ? UPlot.tzDate(new Date(timeS * 1000), 'UTC') : new Date(timeS * 1000)),
    scales: { y: { range: (_, _least, most) => [0, Math.max(1, most * 1.05)] } },
    axes: [
      {
        ...common,
        size: 32,
        space: 70,
        values: (_, splits, _axis, _space, step) => splits.map((timeS) => axes.formatTime(timeS * 1000, step >= dayS)),
      },
      { ...common, size: 64, incrs: steps, values: (_, splits) => splits.map((value) => axes.formatValue(value)) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        stroke: color(line.color),
        width: 2,
        dash: [...line.dash],
        points: { show: ({ data }: UPlot) => data[0].length < 3 },
      })),
    ],
  }
}

/** As the theme has it now: a canvas does not know the page's custom properties. */
function colorOf(room: HTMLElement, property: string): string {
  room.style.setProperty('color', `var(${property})`)
  return getComputedStyle(room).color
}
