import { useState } from 'react'
import { preference, setPreference } from './preferences'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]
export const densities = ['comfortable', 'compact'] as const
export type Density = (typeof densities)[number]

function chosen<Value extends string>(name: string, values: readonly [Value, ...Value[]]): Value {
  return values.find((each) => each === preference(name)) ?? values[0]
}

/** Applies the theme and the density chosen in this browser. */
export function applyAppearance(): void {
  const { dataset } = document.documentElement
  dataset.theme = chosen('theme', themes)
  dataset.density = chosen('density', densities)
}

export function useAppearance() {
  const [theme, setTheme] = useState(() => chosen('theme', themes))
  const [density, setDensity] = useState(() => chosen('density', densities))
  const chooseTheme = (next: Theme) => {
    setPreference('theme', next)
    document.documentElement.dataset.theme = next
    setTheme(next)
  }
  const chooseDensity = (next: Density) => {
    setPreference('density', next)
    document.documentElement.dataset.density = next
    setDensity(next)
  }
  return { theme, density, chooseTheme, chooseDensity }
}
