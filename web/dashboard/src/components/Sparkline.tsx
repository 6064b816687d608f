import './Sparkline.css'

interface SparklineProps {
  /** Null leaves a gap. */
  readonly values: readonly (number | null)[]
  /** The value at the top. Larger ones are drawn there. */
  readonly top: number
  readonly tone?: 'accent' | 'bad'
  /** The description for screen readers. */
  readonly label: string
}

const width = 100
const height = 24

/** A small line over time, without axes. */
export function Sparkline({ values, top, tone = 'accent', label }: SparklineProps) {
  const step = width / Math.max(1, values.length - 1)
  const points = values.flatMap((value, index) => {
    const share = Math.min(1, (value ?? 0) / top)
    return value === null ? [] : [`${(index * step).toFixed(1)},${(height - 2 - share * (height - 4)).toFixed(1)}`]
  })
  return (
    <svg
      className="Sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <polyline className={`Sparkline-line Sparkline-${tone}`} points={points.join(' ')} />
    </svg>
  )
}

interface AttemptBarsProps {
  readonly attempts: readonly { readonly durationMs: number; readonly failure: string | null; readonly at: string }[]
  readonly label: string
}

const maxBars = 60
const barStep = 4

/** One bar per attempt, the newest at the right. Its height is its duration, on a logarithmic scale up to 15 seconds. */
export function AttemptBars({ attempts, label }: AttemptBarsProps) {
  const first = maxBars - attempts.length
  return (
    <svg
      className="Sparkline"
      viewBox={`0 0 ${maxBars * barStep} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {attempts.map(({ durationMs, failure, at }, index) => {
        const share = Math.min(1, Math.log10(1 + durationMs) / Math.log10(15_000))
        const bar = 4 + share * (height - 4)
        return (
          <rect
            key={`${at} ${first + index}`}
            className={failure === null ? 'Sparkline-good' : 'Sparkline-failed'}
            x={(first + index) * barStep}
            y={height - bar}
            width={barStep - 1}
            height={bar}
            rx={1}
          />
        )
      })}
    </svg>
  )
}
