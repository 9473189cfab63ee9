// Texts of the page whose contrast with what is behind them is under 4.5. https://www.w3.org/TR/WCAG22/#contrast-minimum
(() => {
  const numbers = color => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([red, green, blue]) => {
    const [r, g, b] = [red, green, blue].map(one => one / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    for (let one = element; one; one = one.parentElement) {
      const found = numbers(getComputedStyle(one).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255];
  };
  const words = [...document.querySelectorAll(".tidemill *")].filter(one =>
    [...one.childNodes].some(child => child.nodeType === 3 && child.data.trim()) && one.checkVisibility() && one.localName !== "style");
  return words.map(one => {
    const [light, dark] = [luminance(numbers(getComputedStyle(one).color)), luminance(ground(one))].sort((a, b) => b - a);
    return [one.innerText, (light + 0.05) / (dark + 0.05)];
  }).filter(([, contrast]) => contrast < 4.5);
})()
