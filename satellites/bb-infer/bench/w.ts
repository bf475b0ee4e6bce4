import { prepareWeights } from "/work/main/satellites/bb-infer/src/weights/index.ts";
const t=performance.now(); let last="";
const p = await prepareWeights({ ...(process.argv[2]?{model:process.argv[2]}:{}), onProgress: (x)=>{ const s=x.stage+" "+Math.round(10*x.done/x.total)*10+"%"; if(s!==last) console.log(((performance.now()-t)/1000).toFixed(1), s, x.done); last=s; } });
console.log(p, performance.now()-t);
