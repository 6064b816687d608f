import type { Kind, OverviewResponse } from '../../../../../src/http/dashboard/api'
import { type Measure, type TimeSeries, timeSeries } from './overview-totals'

/** A bucket of the chart. `requested` and `done` are undefined for the time to come. */
export interface Bar {
  readonly startMs: number
  readonly requested: number | undefined
  readonly done: number | undefined
  readonly before: number
  /** The bucket has not ended yet. */
  readonly isRunning: boolean
}

interface Options {
  readonly kind: Kind
  readonly measure: Measure
  readonly bucketMs: number
  readonly fromMs: number
  readonly toMs: number
}

/** Returns the bars of the whole range. For the time to come, only the period before has a value. */
export function barsOf(
  series: TimeSeries,
  compared: Pick<OverviewResponse['compared'], 'shiftMs' | 'before'>,
  options: Options,
  nowMs: number,
): readonly Bar[] {
  const { shiftMs } = compared
  const [fromMs, toMs] = [options.fromMs - shiftMs, options.toMs - shiftMs]
  const before = timeSeries(compared.before, { ...options, fromMs, toMs }).values.Pending
  return series.times.map((startMs, index) => {
    const hasStarted = startMs <= nowMs
    return {
      startMs,
      requested: hasStarted ? series.values.Pending[index] : undefined,
      done: hasStarted ? series.values.Completed[index] : undefined,
      before: before[index] ?? 0,
      isRunning: hasStarted && nowMs < startMs + options.bucketMs,
    }
  })
}

/** Returns the end of an axis with three or four round steps that contains the value. */
export function roundedTop(value: number): { readonly value: number; readonly step: number; readonly steps: number } {
  const power = 10 ** Math.floor(Math.log10(value / 3))
  const step = Math.max(1, [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((each) => each * 4 >= value)!)
  const whole = Math.ceil(step)
  const steps = Math.max(1, Math.ceil(value / whole))
  return { value: whole * steps, step: whole, steps }
}
