import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react'
import { useText } from '../../app/texts'
import { type Bar, roundedTop } from './chart-bars'
import './BarChart.css'

interface BarChartProps {
  readonly label: string
  /** The unit of the axis in words. */
  readonly unit: string
  readonly bars: readonly Bar[]
  readonly formatAxis: (value: number) => string
  readonly formatValue: (value: number) => string
  /** The label of a bucket below the chart, and in the tooltip. */
  readonly formatTick: (startMs: number) => string
  readonly formatBucket: (startMs: number) => string
  readonly beforeLabel: string
}

const mostTicks = 6
const percent = (part: number) => `${(part * 100).toFixed(3)}%`

/** Draws two bars per bucket, requested and completed, in front of what was requested in the period before. Arrow keys move through the buckets. */
export function BarChart(props: BarChartProps) {
  const { label, unit, bars, formatAxis, formatValue, formatTick, formatBucket, beforeLabel } = props
  const text = useText()
  const [at, setAt] = useState<number>()
  const plot = useRef<HTMLDivElement>(null)
  const top = roundedTop(
    Math.max(1, ...bars.flatMap(({ requested = 0, done = 0, before }) => [requested, done, before])),
  )
  const width = 1 / Math.max(1, bars.length)
  const running = bars.findIndex(({ isRunning }) => isRunning)
  const every = Math.ceil(bars.length / mostTicks)
  const pointAt = ({ clientX }: PointerEvent) => {
    const { left, width: all } = plot.current!.getBoundingClientRect()
    setAt(Math.min(bars.length - 1, Math.max(0, Math.floor(((clientX - left) / all) * bars.length))))
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const start = running === -1 ? bars.length - 1 : running
    const moved = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (moved === undefined) return
    event.preventDefault()
    setAt(at === undefined ? start : Math.min(bars.length - 1, Math.max(0, at + moved)))
  }
  const pointed = at === undefined ? undefined : bars[at]
  return (
    <div className="BarChart">
      <p className="BarChart-unit">{unit}</p>
      <div className="BarChart-scale" aria-hidden="true">
        {[4, 3, 2, 1, 0]
          .filter((step) => step <= top.steps)
          .map((step) => (
            <span key={step}>{formatAxis(step * top.step)}</span>
          ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has no arrow keys either */}
      <div
        ref={plot}
        className="BarChart-plot"
        role="group"
        tabIndex={0}
        aria-label={label}
        onKeyDown={onKeyDown}
        onPointerMove={pointAt}
        onPointerDown={pointAt}
        onPointerLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
      >
        <svg aria-hidden="true">
          <defs>
            <pattern
              id="hatch-requested"
              width="5"
              height="5"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <line className="BarChart-hatch-requested" y2="5" />
            </pattern>
            <pattern id="hatch-done" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <line className="BarChart-hatch-done" y2="5" />
            </pattern>
          </defs>
          {Array.from({ length: top.steps + 1 }, (_, step) => {
            const y = percent(1 - step / top.steps)
            return (
              <line key={y} className={step === 0 ? 'BarChart-base' : 'BarChart-grid'} x1="0" x2="100%" y1={y} y2={y} />
            )
          })}
          {bars.map((bar, index) => (
            <Bars key={bar.startMs} bar={bar} x={index * width} width={width} top={top.value} isAt={index === at} />
          ))}
        </svg>
      </div>
      <svg className="BarChart-ticks" aria-hidden="true">
        {bars.map(({ startMs }, index) => {
          const x = percent((index + 0.5) * width)
          if (index === running) {
            return (
              <text key={startMs} className="BarChart-now" x={x} y="1em" textAnchor="middle">
                {text('overview.now')}
              </text>
            )
          }
          if (index % every !== 0 || (running !== -1 && Math.abs(index - running) < every * 0.75)) return null
          return (
            <text key={startMs} x={x} y="1em" textAnchor="middle">
              {formatTick(startMs)}
            </text>
          )
        })}
      </svg>
      <output className={`BarChart-tip ${at !== undefined && at > bars.length / 2 ? 'BarChart-tip-start' : ''}`}>
        {pointed && (
          <>
            <strong>{formatBucket(pointed.startMs)}</strong>
            {pointed.requested !== undefined && pointed.done !== undefined && (
              <>
                <Entry sample="requested" label={text('overview.requested')} value={formatValue(pointed.requested)} />
                <Entry sample="done" label={text('common.status.Completed')} value={formatValue(pointed.done)} />
              </>
            )}
            <Entry sample="before" label={beforeLabel} value={formatValue(pointed.before)} />
          </>
        )}
      </output>
      <ul className="BarChart-legend">
        <li>
          <Sample of="requested" />
          {text('overview.requested')}
        </li>
        <li>
          <Sample of="done" />
          {text('common.status.Completed')}
        </li>
        <li>
          <Sample of="before" />
          {text('overview.requestedBefore', { before: beforeLabel })}
        </li>
        {running !== -1 && (
          <li>
            <Sample of="running" />
            {text('overview.running')}
          </li>
        )}
      </ul>
    </div>
  )
}

interface BarsProps {
  readonly bar: Bar
  readonly x: number
  readonly width: number
  readonly top: number
  readonly isAt: boolean
}

function Bars({ bar: { requested, done, before, isRunning }, x, width, top, isAt }: BarsProps) {
  const column = (value: number, from: number, share: number) => ({
    x: percent(x + width * from),
    width: percent(width * share),
    y: percent(1 - value / top),
    height: percent(value / top),
  })
  const y = percent(1 - before / top)
  return (
    <g>
      <rect className={isAt ? 'BarChart-at' : 'BarChart-bucket'} x={percent(x)} width={percent(width)} height="100%" />
      {before > 0 && <rect className="BarChart-ghost" {...column(before, 0.06, 0.88)} />}
      {requested !== undefined && requested > 0 && (
        <rect
          className={isRunning ? 'BarChart-requested-running' : 'BarChart-requested'}
          rx="1.5"
          {...column(requested, 0.12, 0.36)}
        />
      )}
      {requested !== undefined && requested > 0 && isRunning && (
        <rect fill="url(#hatch-requested)" rx="1.5" {...column(requested, 0.12, 0.36)} />
      )}
      {done !== undefined && done > 0 && (
        <rect
          className={isRunning ? undefined : 'BarChart-done'}
          fill={isRunning ? 'url(#hatch-done)' : undefined}
          rx="1.5"
          {...column(done, 0.53, 0.36)}
        />
      )}
      {before > 0 && (
        <line className="BarChart-before" x1={percent(x + width * 0.06)} x2={percent(x + width * 0.94)} y1={y} y2={y} />
      )}
    </g>
  )
}

type SampleOf = 'requested' | 'done' | 'before' | 'running'

function Entry({ sample, label, value }: { sample: SampleOf; label: string; value: string }) {
  return (
    <span className="BarChart-entry">
      <Sample of={sample} />
      <span>{label}</span>
      <span>{value}</span>
    </span>
  )
}

function Sample({ of }: { of: SampleOf }) {
  return (
    <svg className="BarChart-sample" viewBox="0 0 12 12" aria-hidden="true">
      {of === 'before' ? (
        <>
          <rect className="BarChart-ghost" width="12" height="12" />
          <line className="BarChart-before" x2="12" y1="0.75" y2="0.75" />
        </>
      ) : (
        <rect
          className={of === 'running' ? 'BarChart-requested-running' : `BarChart-${of}`}
          x="1"
          y="1"
          width="10"
          height="10"
          rx="2"
        />
      )}
      {of === 'running' && <rect fill="url(#hatch-requested)" x="1" y="1" width="10" height="10" rx="2" />}
    </svg>
  )
}
