import 'uplot/dist/uPlot.min.css'
import './VolumeChart.css'
import { useEffect, useEffectEvent, useRef } from 'react'
import { type Axes, type Line, LineChart } from './line-chart'

interface VolumeChartProps {
  readonly label: string
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  readonly axes: Axes
  /** The index of the bucket under the pointer. */
  readonly onPoint: (index: number | null) => void
}

/** Draws the chart. Loaded only when needed. The table shows the same data in text. */
export function VolumeChart({ label, times, lines, axes, onPoint }: VolumeChartProps) {
  const container = useRef<HTMLDivElement>(null)
  const chart = useRef<LineChart | undefined>(undefined)
  const createChart = useEffectEvent(
    (current: HTMLElement) => new LineChart(current, lines, axes, (index) => pointed(index)),
  )
  const pointed = useEffectEvent(onPoint)

  useEffect(() => {
    if (!container.current) return
    const current = createChart(container.current)
    chart.current = current
    return () => {
      chart.current = undefined
      current.destroy()
    }
  }, [])
  useEffect(() => chart.current?.show(times, lines), [times, lines])

  return <div ref={container} className="VolumeChart" role="img" aria-label={label} />
}
