import { useState } from 'react'
import { preference, setPreference } from './preferences'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

function chosenTheme(): Theme {
  return themes.find((each) => each === preference('theme')) ?? 'system'
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  document.documentElement.dataset.theme = theme
}

export function useTheme() {
  const [theme, setTheme] = useState(chosenTheme)
  const choose = (next: Theme) => {
    setPreference('theme', next)
    applyTheme(next)
    setTheme(next)
  }
  return { theme, choose }
}
