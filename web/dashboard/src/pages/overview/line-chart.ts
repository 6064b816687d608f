import UPlot from 'uplot'

/** Lines also differ in their dash pattern, because meaning must not depend on colour alone. */
export interface Line {
  readonly id: string
  /** A custom property of the theme, such as `--good`. */
  readonly color: string
  readonly dash: readonly number[]
  readonly values: readonly number[]
}

export interface Axes {
  /** Formats numbers and times in the viewer's language. */
  formatValue(value: number): string
  formatTime(timeMs: number, isDay: boolean): string
  /** Formats the start of a bucket. */
  formatStart(timeMs: number): string
  /** Buckets are days in UTC. */
  readonly inUtc: boolean
}

const dayS = 86_400
/** Whole numbers only, because transfers are counted. */
const steps = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

/** Wraps uPlot with the theme's colours. The x-axis is time in seconds, and the y-axis starts at 0. */
export class LineChart {
  readonly #plot: UPlot
  readonly #container: HTMLElement
  readonly #resized: ResizeObserver
  readonly #themed: MutationObserver
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')

  constructor(container: HTMLElement, lines: readonly Line[], axes: Axes, onPoint: (index: number | null) => void) {
    this.#container = container
    this.#plot = new UPlot(optionsOf(container, lines, axes, onPoint), [[], ...lines.map(() => [])], container)
    this.#resized = new ResizeObserver(() =>
      this.#plot.setSize({ width: container.clientWidth, height: container.clientHeight }),
    )
    this.#resized.observe(container)
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
    this.#container.replaceChildren()
  }

  readonly #redraw = () => this.#plot.redraw(false)
}

function optionsOf(
  container: HTMLElement,
  lines: readonly Line[],
  axes: Axes,
  onPoint: (index: number | null) => void,
): UPlot.Options {
  const color = (property: string) => () => colorOf(container, property)
  const common = { stroke: color('--soft'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
  return {
    width: container.clientWidth,
    height: container.clientHeight,
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

/** Returns the current value of a colour of the theme, because a canvas cannot use custom properties. */
function colorOf(container: HTMLElement, property: string): string {
  container.style.setProperty('color', `var(${property})`)
  return getComputedStyle(container).color
}
